#include "scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "CJSON.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool fits_64_bits(const char *digits, size_t count, bool negative) {
  const char *bound = negative ? "9223372036854775808" : "18446744073709551615";
  size_t bound_count = strlen(bound);
  if (count != bound_count) return count < bound_count;
  return memcmp(digits, bound, count) <= 0;
}

char *cj_widen_integers(const char *text, size_t length, size_t *widened_length) {
  // Two more bytes for at least 19 that are there.
  char *copy = malloc(length + length / 8 + 2 + CJ_PADDING);
  if (!copy) return NULL;
  char *out = copy;
  const char *end = text + length;
  for (const char *at = text; at < end;) {
    char c = *at;
    if (c == '"') {
      const char *close = cj_string_end(at + 1, end);
      memcpy(out, at, (size_t)(close - at));
      out += close - at;
      at = close;
    } else if (is_digit(c) || c == '-') {
      const char *digits = c == '-' ? at + 1 : at;
      const char *stop = digits;
      while (stop < end && is_digit(*stop)) stop++;
      bool whole = stop == end || (*stop != '.' && *stop != 'e' && *stop != 'E');
      bool widen = whole && !fits_64_bits(digits, (size_t)(stop - digits), c == '-');
      while (!whole && stop < end && (is_digit(*stop) || strchr(".eE+-", *stop))) stop++;
      memcpy(out, at, (size_t)(stop - at));
      out += stop - at;
      if (widen) {
        *out++ = '.';
        *out++ = '0';
      }
      at = stop;
    } else {
      *out++ = c;
      at++;
    }
  }
  *widened_length = (size_t)(out - copy);
  memset(out, ' ', CJ_PADDING);
  return copy;
}
