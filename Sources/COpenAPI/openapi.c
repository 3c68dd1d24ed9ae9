#include "COpenAPI.h"

static const unsigned char text[] = {
#embed "../../docs/openapi.json"
};

const unsigned char *openapi_text(void) { return text; }

size_t openapi_length(void) { return sizeof text; }
