/// Facts about a line before it is parsed.
#ifndef CJSON_EVENT_H
#define CJSON_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "CJSONRaw.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma clang assume_nonnull begin

/// Yields the subject of the one event that the line can hold; false where only parsing can tell.
///
/// The subject is right for every line that turns out to be a request: then the request is an `event` with that subject, or it is refused.
/// It is false for batches and for every line with a backslash, as names and subjects could then be written in other ways.
/// `CJ_PADDING` bytes behind the line must be readable.
bool cj_event_subject(const char *line, size_t length, cj_slice *subject);

#pragma clang assume_nonnull end
#ifdef __cplusplus
}
#endif
#endif
