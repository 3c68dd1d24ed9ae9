/*
 * `text`: Unicode lower case, and white space at the ends.
 *
 * The host knows the letters beyond ASCII. It gets a long text in parts, so that a rule can be stopped between two of them.
 */
#include "operations.h"
#include "text.h"

enum { PART = 16 * 1024 };

/* How many bytes of a text are its next part: it ends before a character. */
static size_t part_of(const char *bytes, size_t length) {
  if (length <= PART) return length;
  for (size_t end = PART; end > PART - 4; end--)
    if (((unsigned char)bytes[end] & 0xC0) != 0x80) return end;
  return PART;
}

/* Writes a text with its ASCII letters in lower case; false if it has others. */
static bool lower_ascii(char *into, const char *bytes, size_t length) {
  unsigned char all = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    all |= byte;
    into[i] = (char)((unsigned char)(byte - 'A') < 26 ? byte | 0x20 : byte);
  }
  return all < 0x80;
}

/* Appends what the host makes of a part to `vm->result`. */
static void append_asked(lua_State *L, rb_call call, const char *bytes, size_t length) {
  rb_value part = {.type = RB_STRING, .text = {bytes, length}};
  rb_ask_host(L, call, &part, 1);
  rb_slice made = rb_check_text(L, -1);
  rb_append(rb_vm_of(L), &rb_vm_of(L)->result, made.bytes, made.length);
  lua_pop(L, 1);
}

/* Pushes what `call` makes of a text; it is lower case where the text is ASCII. */
static void push_made(lua_State *L, rb_call call, rb_slice text) {
  rb_buffer *into = &rb_vm_of(L)->result;
  into->length = 0;
  for (size_t at = 0; at < text.length;) {
    const char *part = text.bytes + at;
    size_t length = part_of(part, text.length - at);
    rb_charge(L, length);
    char *out = rb_reserve(rb_vm_of(L), into, length);
    if (call == RB_CALL_TEXT_LOWER && lower_ascii(out, part, length)) {
      into->length += length;
    } else {
      append_asked(L, call, part, length);
    }
    at += length;
  }
  lua_pushlstring(L, into->bytes ? into->bytes : "", into->length);
}

void rb_push_lower(lua_State *L, rb_slice text) { push_made(L, RB_CALL_TEXT_LOWER, text); }

static rb_slice check_argument(lua_State *L, const char *function) {
  if (lua_type(L, 1) != LUA_TSTRING) luaL_error(L, "%s's argument must be a string", function);
  return rb_check_text(L, 1);
}

int rb_host_text_lower(lua_State *L) {
  rb_push_lower(L, check_argument(L, "text.lower"));
  return 1;
}

/* Whether the bytes are one character of the property White_Space. */
static bool is_space(const char *bytes, size_t length) {
  unsigned code = 0;
  for (size_t i = 0; i < length; i++) code = code << 8 | (unsigned char)bytes[i];
  switch (length) {
    case 1: return (code >= 0x09 && code <= 0x0D) || code == 0x20;
    case 2: return code == 0xC285 || code == 0xC2A0;
    default:
      return (code >= 0xE28080 && code <= 0xE2808A) || code == 0xE19A80 || code == 0xE280A8 || code == 0xE280A9 || code == 0xE280AF ||
             code == 0xE2819F || code == 0xE38080;
  }
}

int rb_host_text_trim(lua_State *L) {
  rb_slice text = check_argument(L, "text.trim");
  rb_charge(L, text.length);
  for (size_t size = 1; size <= 3 && size <= text.length;) {
    if (!is_space(text.bytes, size)) {
      size++;
      continue;
    }
    text = (rb_slice){text.bytes + size, text.length - size};
    size = 1;
  }
  for (size_t size = 1; size <= 3 && size <= text.length;) {
    if (!is_space(text.bytes + text.length - size, size)) {
      size++;
      continue;
    }
    text.length -= size;
    size = 1;
  }
  if (rb_is_utf8(text.bytes, text.length)) {
    lua_pushlstring(L, text.bytes, text.length);
  } else {
    push_made(L, RB_CALL_TEXT_REPAIR, text);
  }
  return 1;
}
