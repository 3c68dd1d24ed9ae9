/* The one header through which libuv is imported. */
#include <uv.h>
