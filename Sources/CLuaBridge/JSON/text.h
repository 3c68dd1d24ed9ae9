#ifndef RB_TEXT_H
#define RB_TEXT_H
/* Strings and numbers as JSON, eight bytes at a time. */
#include "Run/run.h"

enum { RB_LABEL_WORDS = 3, RB_LABEL_NAME = 8 * RB_LABEL_WORDS - 3 };

#define RB_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define RB_SPACES RB_EACH(0x20)

/* Not zero if one of the eight bytes is a control character, a quote, a backslash, or not ASCII. The lowest set bit is exact. */
static inline uint64_t rb_unplain(uint64_t word) {
  uint64_t quote = word ^ RB_EACH('"'), backslash = word ^ RB_EACH('\\');
  uint64_t below = (word - RB_SPACES) | (quote - RB_EACH(1)) | (backslash - RB_EACH(1));
  /* Of the ASCII bytes only DEL sets the top bit of the sum. */
  return ((below & ~word) | (word + RB_EACH(1)) | word) & RB_EACH(0x80);
}

/* The bytes of a string shorter than eight, the first one lowest, followed by those of `rest`. */
static inline uint64_t rb_short_word(const char *bytes, size_t length, uint64_t rest) {
  uint64_t word = 0;
  if (length >= 4) {
    uint32_t first, last;
    memcpy(&first, bytes, 4);
    memcpy(&last, bytes + length - 4, 4);
    word = first | (uint64_t)last << (8 * (length - 4));
  } else if (length > 0) {
    word = (uint64_t)(unsigned char)bytes[0] | (uint64_t)(unsigned char)bytes[length / 2] << (8 * (length / 2)) |
           (uint64_t)(unsigned char)bytes[length - 1] << (8 * (length - 1));
  }
  return word | rest << (8 * length);
}

/* The first eight bytes of a string as a number that compares as they do; missing bytes are zero. */
static inline uint64_t rb_prefix(const char *bytes, size_t length) {
  uint64_t word;
  if (length < 8) return __builtin_bswap64(rb_short_word(bytes, length, 0));
  memcpy(&word, bytes, 8);
  return __builtin_bswap64(word);
}

/* memcpy, without a call for short strings. */
static inline void rb_copy(char *into, const char *from, size_t length) {
  if (length > 16) {
    memcpy(into, from, length);
  } else if (length >= 8) {
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, from + length - 8, 8);
    memcpy(into, &first, 8);
    memcpy(into + length - 8, &last, 8);
  } else if (length >= 4) {
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + length - 4, 4);
    memcpy(into, &first, 4);
    memcpy(into + length - 4, &last, 4);
  } else if (length > 0) {
    char middle = from[length / 2], last = from[length - 1];
    into[0] = from[0];
    into[length / 2] = middle;
    into[length - 1] = last;
  }
}

/* Writes a name as a label, followed by zeros; returns the label's length. */
static inline uint8_t rb_write_label(uint64_t label[RB_LABEL_WORDS], const char *name, size_t length) {
  char text[8 * RB_LABEL_WORDS] = {'"'};
  memcpy(text + 1, name, length);
  memcpy(text + 1 + length, "\":", 2);
  memcpy(label, text, sizeof text);
  return (uint8_t)(length + 3);
}

bool rb_is_plain_from(const char *bytes, size_t length);

/* Whether a string needs no escapes in JSON; false for some that need none. */
static inline bool rb_is_plain(const char *bytes, size_t length) {
  uint64_t word, last;
  if (length < 8) return !rb_unplain(rb_short_word(bytes, length, RB_SPACES));
  if (length > 16) return rb_is_plain_from(bytes, length);
  memcpy(&word, bytes, 8);
  memcpy(&last, bytes + length - 8, 8);
  return !(rb_unplain(word) | rb_unplain(last));
}

enum { RB_INTEGER_ROOM = 24 };

/* Writes an integer with more than one digit, or a sign. */
char *rb_write_digits(char *into, lua_Integer value);

/* Writes an integer where RB_INTEGER_ROOM bytes are free; returns where it ends. */
static inline char *rb_write_integer(char *into, lua_Integer value) {
  if ((lua_Unsigned)value >= 10) return rb_write_digits(into, value);
  *into = (char)('0' + value);
  return into + 1;
}

bool rb_is_utf8(const char *bytes, size_t length);
/* Appends a string with its quotes; false, and appends nothing, if it is not UTF-8. */
bool rb_append_json_string(rb_vm *vm, rb_buffer *into, const char *bytes, size_t length);
void rb_append_integer(rb_vm *vm, rb_buffer *into, lua_Integer value);
/* A finite number. */
void rb_append_number(rb_vm *vm, rb_buffer *into, lua_Number value);

#endif
