/// JSON for C and Swift: simdjson's parser behind a C interface.
///
/// A `cj_doc` parses one text at a time and keeps its memory for the next one. The result is simdjson's tape, which the
/// inline functions below walk without a call: a value is named by its index on the tape, the root's is `CJ_ROOT`, and a
/// container's children follow it. Strings are decoded, have a length and may hold any byte. An object's children
/// alternate between a name (a string) and its value. Nothing here throws, and a document belongs to one thread at a
/// time.
#ifndef CJSON_H
#define CJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "CJSONEvent.h"
#include "CJSONRaw.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma clang assume_nonnull begin

/// Why a text was refused.
enum cj_error {
  CJ_OK = 0,
  CJ_ERROR_SYNTAX = 1,
  CJ_ERROR_UTF8 = 2,
  CJ_ERROR_DEPTH = 3,
  CJ_ERROR_NUMBER = 4,
  CJ_ERROR_CAPACITY = 5,
  CJ_ERROR_MEMORY = 6,
};

/// The kind of a value. An integer is `CJ_INT64` where it fits, else `CJ_UINT64`, else `CJ_DOUBLE`.
enum cj_kind {
  CJ_OBJECT = '{',
  CJ_ARRAY = '[',
  CJ_STRING = '"',
  CJ_INT64 = 'l',
  CJ_UINT64 = 'u',
  CJ_DOUBLE = 'd',
  CJ_TRUE = 't',
  CJ_FALSE = 'f',
  CJ_NULL = 'n',
};

enum {
  /// How deep containers may nest, unless `cj_set_depth` says otherwise.
  CJ_MAX_DEPTH = 64,
  /// How many bytes after a text must be readable for it to be parsed in place.
  CJ_PADDING = 64,
  /// The index of the root value.
  CJ_ROOT = 1,
};

typedef struct cj_doc cj_doc;

/// An empty document, or NULL when there is no memory.
cj_doc *_Nullable cj_new(void);
void cj_free(cj_doc *_Nullable doc);

/// Sets how deep containers may nest in the texts that are parsed from now on.
void cj_set_depth(cj_doc *doc, size_t depth);

/// Parses `length` bytes. `readable` bytes can be read from `bytes` on; with `CJ_PADDING` more than `length` nothing is
/// copied. Returns `CJ_OK` or a `cj_error`; the document's earlier content is lost either way.
int cj_parse(cj_doc *doc, const char *bytes, size_t length, size_t readable);

/// The meaning of a `cj_error`, in a few words.
const char *cj_error_text(int error);

/// Where a text that `cj_parse` refused stops being JSON: the offset of the byte or of the token that is wrong.
/// It reads the text once more and allocates, so it is for messages to people.
size_t cj_error_offset(const char *bytes, size_t length, size_t depth);

/// The tape and the decoded strings of the text that was parsed last; valid until the next parse.
const uint64_t *cj_tape(const cj_doc *doc);
const uint8_t *cj_strings(const cj_doc *doc);

#define CJ_PAYLOAD_MASK UINT64_C(0x00FFFFFFFFFFFFFF)

/// The kind of the value at `index`.
static inline enum cj_kind cj_type(const uint64_t *tape, size_t index) {
  return (enum cj_kind)(tape[index] >> 56);
}

/// The index after the value at `index`.
static inline size_t cj_next(const uint64_t *tape, size_t index) {
  switch (cj_type(tape, index)) {
    case CJ_OBJECT:
    case CJ_ARRAY: return (uint32_t)tape[index];
    case CJ_INT64:
    case CJ_UINT64:
    case CJ_DOUBLE: return index + 2;
    default: return index + 1;
  }
}

/// The index of a container's first child; equal to `cj_end` when it is empty.
static inline size_t cj_first(size_t container) { return container + 1; }

/// The index after a container's last child.
static inline size_t cj_end(const uint64_t *tape, size_t container) { return (uint32_t)tape[container] - 1; }

/// How many elements or members a container has, at most 16,777,215.
static inline size_t cj_count(const uint64_t *tape, size_t container) {
  return (size_t)((tape[container] >> 32) & 0xFFFFFF);
}

/// The bytes of the string at `index`; a zero byte follows them, which `length` does not include.
static inline const char *cj_string(const uint64_t *tape, const uint8_t *strings, size_t index, size_t *length) {
  const uint8_t *at = strings + (tape[index] & CJ_PAYLOAD_MASK);
  uint32_t count;
  memcpy(&count, at, sizeof count);
  *length = count;
  return (const char *)at + sizeof count;
}

static inline int64_t cj_int64(const uint64_t *tape, size_t index) { return (int64_t)tape[index + 1]; }
static inline uint64_t cj_uint64(const uint64_t *tape, size_t index) { return tape[index + 1]; }

static inline double cj_double(const uint64_t *tape, size_t index) {
  double value;
  memcpy(&value, &tape[index + 1], sizeof value);
  return value;
}

/// The value at `index` of the last member called `name`, or 0 when `object` has none.
static inline size_t cj_member(
    const uint64_t *tape, const uint8_t *strings, size_t object, const char *name, size_t length) {
  size_t found = 0;
  size_t end = cj_end(tape, object);
  for (size_t index = cj_first(object); index < end;) {
    size_t count;
    const char *key = cj_string(tape, strings, index, &count);
    if (count == length && memcmp(key, name, length) == 0) found = index + 1;
    index = cj_next(tape, index + 1);
  }
  return found;
}

#pragma clang assume_nonnull end
#ifdef __cplusplus
}
#endif
#endif
