#include "CJSONEvent.h"

#include <stdint.h>
#include <string.h>

#define SUBJECT "\"subject\""
#define METHOD "\"method\""
#define EVENT "\"event\""

typedef uint8_t bytes16 __attribute__((vector_size(16)));

static bytes16 load(const char *at) {
  bytes16 bytes;
  memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

/// The start of the string behind a name and its colon, or NULL when there is none.
static const char *string_behind(const char *at, const char *end) {
  at = skip_space(at, end);
  if (at == end || *at != ':') return NULL;
  at = skip_space(at + 1, end);
  return at < end && *at == '"' ? at : NULL;
}

static bool stands(const char *text, size_t length, const char *at, const char *end) {
  return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/// Where the two names stand; a name that stands there twice, or a backslash, ends the search.
typedef struct {
  const char *subject;
  const char *method;
} names;

static bool note(names *found, const char *at, const char *end) {
  if (at >= end) return true;
  if (*at == '\\') return false;
  const char **name = NULL;
  if (stands(SUBJECT, sizeof SUBJECT - 1, at, end)) name = &found->subject;
  if (stands(METHOD, sizeof METHOD - 1, at, end)) name = &found->method;
  if (!name) return true;
  if (*name) return false;
  *name = at;
  return true;
}

static bool find(names *found, const char *at, const char *end) {
  for (; at < end; at += sizeof(bytes16)) {
    bytes16 here = load(at), next = load(at + 1);
    // A quote with an 's' or an 'm' behind it may begin a name that is looked for.
    bytes16 marks = (bytes16)(here == '\\') |
                    ((bytes16)(here == '"') & ((bytes16)(next == 's') | (bytes16)(next == 'm')));
    uint64_t halves[2];
    memcpy(halves, &marks, sizeof halves);
    for (size_t half = 0; half < 2; half++) {
      for (uint64_t rest = halves[half]; rest != 0;) {
        size_t byte = (size_t)__builtin_ctzll(rest) / 8;
        rest &= ~(UINT64_C(0xFF) << (byte * 8));
        if (!note(found, at + half * 8 + byte, end)) return false;
      }
    }
  }
  return true;
}

bool cj_event_subject(const char *line, size_t length, cj_slice *subject) {
  const char *end = line + length;
  const char *start = skip_space(line, end);
  if (start == end || *start != '{') return false;
  names found = {NULL, NULL};
  if (!find(&found, start, end)) return false;
  if (!found.subject || !found.method) return false;
  const char *method = string_behind(found.method + sizeof METHOD - 1, end);
  if (!method || !stands(EVENT, sizeof EVENT - 1, method, end)) return false;
  const char *value = string_behind(found.subject + sizeof SUBJECT - 1, end);
  if (!value) return false;
  const char *close = memchr(value + 1, '"', (size_t)(end - value - 1));
  if (!close) return false;
  *subject = (cj_slice){value + 1, (size_t)(close - value - 1)};
  return true;
}
