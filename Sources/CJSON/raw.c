#include <stdint.h>
#include <string.h>

#include "CJSON.h"
#include "scan.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static const char *skip_space(const char *at, const char *end) {
  while (at < end && is_space(*at)) at++;
  return at;
}

const char *cj_string_end(const char *at, const char *end) {
  const char *start = at;
  while (at < end) {
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote) return end;
    const char *run = quote;
    while (run > start && run[-1] == '\\') run--;
    if (((quote - run) & 1) == 0) return quote + 1;
    at = quote + 1;
    start = at;
  }
  return end;
}

static const char *container_end(const char *at, const char *end) {
  size_t depth = 0;
  while (at < end) {
    char c = *at++;
    if (c == '"') {
      at = cj_string_end(at, end);
    } else if ((c | 0x20) == '{') {  // '{' or '['
      depth++;
    } else if ((c | 0x20) == '}') {  // '}' or ']'
      if (--depth == 0) return at;
    }
  }
  return end;
}

static const char *value_end(const char *at, const char *end) {
  if (at == end) return end;
  if (*at == '"') return cj_string_end(at + 1, end);
  if (*at == '{' || *at == '[') return container_end(at, end);
  while (at < end && *at != ',' && *at != '}' && *at != ']' && !is_space(*at)) at++;
  return at;
}

cj_slice cj_raw_trim(const char *text, size_t length) {
  const char *end = text + length;
  const char *start = skip_space(text, end);
  while (end > start && is_space(end[-1])) end--;
  return (cj_slice){start, (size_t)(end - start)};
}

cj_cursor cj_raw_open(const char *text, size_t length) {
  const char *end = text + length;
  const char *start = skip_space(text, end);
  return (cj_cursor){start < end ? start + 1 : end, end};
}

/// The first byte of the next child, or NULL at the end of the container.
static const char *next_child(cj_cursor *cursor) {
  const char *at = skip_space(cursor->at, cursor->end);
  if (at < cursor->end && *at == ',') at = skip_space(at + 1, cursor->end);
  cursor->at = at;
  return at == cursor->end || *at == '}' || *at == ']' ? NULL : at;
}

bool cj_raw_element(cj_cursor *cursor, cj_slice *value) {
  const char *start = next_child(cursor);
  if (!start) return false;
  cursor->at = value_end(start, cursor->end);
  *value = (cj_slice){start, (size_t)(cursor->at - start)};
  return true;
}

bool cj_raw_member_next(cj_cursor *cursor, cj_slice *name, cj_slice *value) {
  const char *start = next_child(cursor);
  if (!start) return false;
  const char *name_end = cj_string_end(start + 1, cursor->end);
  *name = (cj_slice){start + 1, (size_t)(name_end - start) - 2};
  const char *at = skip_space(name_end, cursor->end);
  if (at < cursor->end) at = skip_space(at + 1, cursor->end);
  cursor->at = value_end(at, cursor->end);
  *value = (cj_slice){at, (size_t)(cursor->at - at)};
  return true;
}

static uint32_t hex4(const char *at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    value = value * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

/// Writes the UTF-8 of a code point and returns how many bytes it has.
static size_t encode(uint32_t point, char out[4]) {
  if (point < 0x80) return out[0] = (char)point, 1;
  size_t count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = count - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3F));
  out[0] = (char)(lead[count] | point);
  return count;
}

/// Decodes the escape behind a backslash into `out`, moves `at` over it and returns how many bytes it stands for.
static size_t unescape(const char **at, char out[4]) {
  char c = *(*at)++;
  switch (c) {
    case 'b': return out[0] = '\b', 1;
    case 'f': return out[0] = '\f', 1;
    case 'n': return out[0] = '\n', 1;
    case 'r': return out[0] = '\r', 1;
    case 't': return out[0] = '\t', 1;
    case 'u': break;
    default: return out[0] = c, 1;
  }
  uint32_t point = hex4(*at);
  *at += 4;
  if (point >= 0xD800 && point < 0xDC00) {
    point = 0x10000 + ((point - 0xD800) << 10) + (hex4(*at + 2) - 0xDC00);
    *at += 6;
  }
  return encode(point, out);
}

static bool is_name(cj_slice raw, const char *name, size_t length) {
  if (!memchr(raw.bytes, '\\', raw.length)) return raw.length == length && memcmp(raw.bytes, name, length) == 0;
  const char *at = raw.bytes;
  const char *end = at + raw.length;
  size_t matched = 0;
  while (at < end) {
    char out[4];
    size_t count = 1;
    if (*at == '\\') {
      at++;
      count = unescape(&at, out);
    } else {
      out[0] = *at++;
    }
    if (count > length - matched || memcmp(name + matched, out, count) != 0) return false;
    matched += count;
  }
  return matched == length;
}

bool cj_raw_member(
    const char *object, size_t length, const char *name, size_t name_length, const char **value, size_t *value_length) {
  cj_cursor cursor = cj_raw_open(object, length);
  cj_slice key, text;
  bool found = false;
  while (cj_raw_member_next(&cursor, &key, &text)) {
    if (!is_name(key, name, name_length)) continue;
    *value = text.bytes;
    *value_length = text.length;
    found = true;
  }
  return found;
}
