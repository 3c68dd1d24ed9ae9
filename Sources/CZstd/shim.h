/* The one header through which libzstd is imported. */
#include <zstd.h>
