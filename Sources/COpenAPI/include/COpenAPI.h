/* docs/openapi.json, as the program was built with it. */
#pragma once
#include <stddef.h>

const unsigned char *openapi_text(void);
size_t openapi_length(void);
