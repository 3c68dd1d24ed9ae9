/// The common functions of this library's parts.
#ifndef CJSON_SCAN_H
#define CJSON_SCAN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The byte behind the closing quote of the string whose text begins at `at`, or `end` when it is not closed.
const char *cj_string_end(const char *at, const char *end);

/// A copy of `text`, with `CJ_PADDING` bytes behind it, in which every integer of 19 digits and more that does not fit
/// 64 bits ends in `.0`.
/// The caller frees it; NULL when there is no memory. The text need not be JSON.
char *cj_widen_integers(const char *text, size_t length, size_t *widened_length);

#ifdef __cplusplus
}
#endif
#endif
