#include <simdjson.h>
extern "C" {
#include "CJSON.h"
const char *cj_version(void) { return SIMDJSON_STRINGIFY(SIMDJSON_VERSION); }
}
