/* Strings and numbers as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

/* The length of the UTF-8 sequence at `bytes`, 0 if it is malformed (RFC 3629). */
static size_t sequence_length(const unsigned char *bytes, size_t left) {
  unsigned char first = bytes[0];
  if (first < 0x80) return 1;
  size_t length = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (length == 0 || left < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((bytes[i] & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && bytes[1] < 0xA0) return 0;
  if (first == 0xED && bytes[1] > 0x9F) return 0;
  if (first == 0xF0 && bytes[1] < 0x90) return 0;
  if (first == 0xF4 && bytes[1] > 0x8F) return 0;
  return length;
}

bool rb_is_utf8(const char *bytes, size_t length) {
  size_t i = 0;
  while (i < length) {
    if (length - i >= 8) {
      uint64_t word;
      memcpy(&word, bytes + i, 8);
      if (!(word & UINT64_C(0x8080808080808080))) {
        i += 8;
        continue;
      }
    }
    size_t step = sequence_length((const unsigned char *)bytes + i, length - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

bool rb_is_plain_from(const char *bytes, size_t length) {
  uint64_t word, found = 0;
  for (size_t i = 0; i + 8 <= length; i += 8) {
    memcpy(&word, bytes + i, 8);
    found |= rb_unplain(word);
  }
  memcpy(&word, bytes + length - 8, 8);
  return !(found | rb_unplain(word));
}

static void append_escaped(rb_vm *vm, rb_buffer *into, const char *bytes, size_t length) {
  static const char digits[] = "0123456789abcdef";
  rb_append(vm, into, "\"", 1);
  size_t start = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    rb_append(vm, into, bytes + start, i - start);
    start = i + 1;
    char escape[6] = {'\\', 0, '0', '0', 0, 0};
    size_t escape_length = 2;
    switch (byte) {
      case '\n': escape[1] = 'n'; break;
      case '\t': escape[1] = 't'; break;
      case '\r': escape[1] = 'r'; break;
      case '\b': escape[1] = 'b'; break;
      case '\f': escape[1] = 'f'; break;
      case '"':
      case '\\': escape[1] = (char)byte; break;
      default:
        escape[1] = 'u';
        escape[4] = digits[byte >> 4];
        escape[5] = digits[byte & 15];
        escape_length = 6;
    }
    rb_append(vm, into, escape, escape_length);
  }
  rb_append(vm, into, bytes + start, length - start);
  rb_append(vm, into, "\"", 1);
}

bool rb_append_json_string(rb_vm *vm, rb_buffer *into, const char *bytes, size_t length) {
  if (rb_is_plain(bytes, length)) {
    char *out = rb_reserve(vm, into, length + 2);
    *out++ = '"';
    rb_copy(out, bytes, length);
    out[length] = '"';
    into->length += length + 2;
    return true;
  }
  if (!rb_is_utf8(bytes, length)) return false;
  append_escaped(vm, into, bytes, length);
  return true;
}

/* Writes the digits of a number so that they end at `end`; returns where they begin. */
static char *write_digits(char *end, uint64_t value) {
  static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                              "4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
                              "99";
  for (; value > UINT32_MAX; value /= 10) *--end = (char)('0' + value % 10);
  uint32_t low = (uint32_t)value;
  for (; low >= 100; low /= 100) memcpy(end -= 2, pairs + 2 * (low % 100), 2);
  if (low >= 10) return memcpy(end - 2, pairs + 2 * low, 2);
  *--end = (char)('0' + low);
  return end;
}

static void append_short(rb_vm *vm, rb_buffer *into, const char *text, size_t length) {
  rb_copy(rb_reserve(vm, into, length), text, length);
  into->length += length;
}

char *rb_write_digits(char *into, lua_Integer value) {
  char text[RB_INTEGER_ROOM], *end = text + sizeof text;
  const char *at = write_digits(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
  if (value < 0) *into++ = '-';
  rb_copy(into, at, (size_t)(end - at));
  return into + (end - at);
}

void rb_append_integer(rb_vm *vm, rb_buffer *into, lua_Integer value) {
  char *out = rb_reserve(vm, into, RB_INTEGER_ROOM);
  into->length += (size_t)(rb_write_integer(out, value) - out);
}

/* Appends a number with at most 15 digits, six of them in the fraction, as `%.15g` writes it; false for any other. */
static bool append_millionths(rb_vm *vm, rb_buffer *into, lua_Number value) {
  lua_Number magnitude = value < 0 ? -value : value;
  if (!(magnitude >= 1e-4 && magnitude < 1e9)) return false;
  uint64_t millionths = (uint64_t)(magnitude * 1e6 + 0.5);
  if ((lua_Number)millionths / 1e6 != magnitude) return false;
  char text[24], *end = text + sizeof text;
  uint64_t whole = millionths / 1000000, fraction = millionths % 1000000;
  int digits = 6;
  while (digits > 1 && fraction % 10 == 0) {
    fraction /= 10;
    digits--;
  }
  char *at = write_digits(end, fraction);
  while (end - at < digits) *--at = '0';
  *--at = '.';
  at = write_digits(at, whole);
  if (value < 0) *--at = '-';
  append_short(vm, into, at, (size_t)(end - at));
  return true;
}

void rb_append_number(rb_vm *vm, rb_buffer *into, lua_Number value) {
  if (append_millionths(vm, into, value)) return;
  char text[40];
  rb_enter_host(vm);
  int length = snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) length = snprintf(text, sizeof text, "%.17g", value);
  rb_exit_host(vm);
  rb_append(vm, into, text, (size_t)length);
  if (!strpbrk(text, ".e")) rb_append(vm, into, ".0", 2);
}
