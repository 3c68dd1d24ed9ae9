/// The text of a JSON value's parts, as sent.
///
/// Everything here walks text that `cj_parse` has accepted, and relies on that: it checks nothing but the bounds.
#ifndef CJSON_RAW_H
#define CJSON_RAW_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma clang assume_nonnull begin

/// A position in a container's text.
typedef struct {
  const char *at;
  const char *end;
} cj_cursor;

/// A run of bytes of the text.
typedef struct {
  const char *_Nullable bytes;
  size_t length;
} cj_slice;

/// The text of one value, without the white space around it.
cj_slice cj_raw_trim(const char *text, size_t length);

/// A cursor before the first child of the container whose text begins at `text`, white space before it allowed.
cj_cursor cj_raw_open(const char *text, size_t length);

/// Moves over the next element and yields its text; false at the end.
bool cj_raw_element(cj_cursor *cursor, cj_slice *value);

/// Moves over the next member and yields its name between the quotes, not decoded, and its value; false at the end.
bool cj_raw_member_next(cj_cursor *cursor, cj_slice *name, cj_slice *value);

/// Finds the last member whose decoded name is `name`; false when the object has none.
bool cj_raw_member(
    const char *object, size_t length, const char *name, size_t name_length, const char *_Nullable *_Nonnull value,
    size_t *value_length);

#pragma clang assume_nonnull end
#ifdef __cplusplus
}
#endif
#endif
