/* `base64`, `hex` and `url.encode`: bytes as text and back. All of it is C that a signal may leave at any place. */
#include "vm.h"

/* Where so many bytes of a result can be written, which are charged. */
static char *reserve_charged(lua_State *L, size_t length) {
  rb_vm *vm = rb_vm_of(L);
  rb_charge(L, length);
  vm->result.length = 0;
  return rb_reserve(vm, &vm->result, length + 1);
}

static int push_until(lua_State *L, const char *end) {
  const rb_vm *vm = rb_vm_of(L);
  lua_pushlstring(L, vm->result.bytes, (size_t)(end - vm->result.bytes));
  return 1;
}

static int refuse(lua_State *L, const char *format, size_t at) {
  lua_pushnil(L);
  lua_pushfstring(L, format, (int)at);
  return 2;
}

/* Base 64 ---------------------------------------------------------------------------------------------------------------------- */

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int base64_encode(lua_State *L) {
  rb_slice from = rb_charged_text(L, "base64.encode");
  const unsigned char *at = (const unsigned char *)from.bytes;
  char *out = reserve_charged(L, (from.length + 2) / 3 * 4);
  for (size_t left = from.length; left > 0; at += 3) {
    uint32_t bits = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) | (left > 2 ? at[2] : 0);
    *out++ = digits64[bits >> 18];
    *out++ = digits64[bits >> 12 & 63];
    *out++ = left > 1 ? digits64[bits >> 6 & 63] : '=';
    *out++ = left > 2 ? digits64[bits & 63] : '=';
    left = left > 3 ? left - 3 : 0;
  }
  return push_until(L, out);
}

/* The value of a digit, -1 for another character. */
static int value64(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648, with its padding: each value has one text. */
static int base64_decode(lua_State *L) {
  rb_slice from = rb_charged_text(L, "base64.decode");
  if (from.length % 4 != 0) return refuse(L, "the text's length is no multiple of 4: it is %d", from.length);
  size_t padding = 0;
  while (padding < 2 && padding < from.length && from.bytes[from.length - 1 - padding] == '=') padding++;
  char *out = reserve_charged(L, from.length / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < from.length - padding; i++) {
    int value = value64(from.bytes[i]);
    if (value < 0) return refuse(L, "no digit of base 64 at byte %d", i + 1);
    bits = bits << 6 | (uint32_t)value;
    if (i % 4 != 3) continue;
    *out++ = (char)(bits >> 16);
    *out++ = (char)(bits >> 8);
    *out++ = (char)bits;
  }
  if (padding == 1) {
    if (bits & 3) return refuse(L, "bits beyond the last byte, at byte %d", from.length - 1);
    *out++ = (char)(bits >> 10);
    *out++ = (char)(bits >> 2);
  } else if (padding == 2) {
    if (bits & 15) return refuse(L, "bits beyond the last byte, at byte %d", from.length - 2);
    *out++ = (char)(bits >> 4);
  }
  return push_until(L, out);
}

/* Base 16 ---------------------------------------------------------------------------------------------------------------------- */

static int hex_encode(lua_State *L) {
  static const char digits[] = "0123456789abcdef";
  rb_slice from = rb_charged_text(L, "hex.encode");
  char *out = reserve_charged(L, from.length * 2);
  for (size_t i = 0; i < from.length; i++) {
    *out++ = digits[(unsigned char)from.bytes[i] >> 4];
    *out++ = digits[from.bytes[i] & 15];
  }
  return push_until(L, out);
}

static int hex_decode(lua_State *L) {
  rb_slice from = rb_charged_text(L, "hex.decode");
  if (from.length % 2 != 0) return refuse(L, "the text has an odd length: it is %d", from.length);
  char *out = reserve_charged(L, from.length / 2);
  for (size_t i = 0; i < from.length; i += 2) {
    int high = rb_hex_digit(from.bytes[i]), low = rb_hex_digit(from.bytes[i + 1]);
    if (high < 0 || low < 0) return refuse(L, "no hexadecimal digit at byte %d", high < 0 ? i + 1 : i + 2);
    *out++ = (char)(high << 4 | low);
  }
  return push_until(L, out);
}

/* URLs ------------------------------------------------------------------------------------------------------------------------- */

/* RFC 3986: letters, digits and -._~ stay, all other bytes become escapes. */
int rb_url_encode(lua_State *L) {
  static const char digits[] = "0123456789ABCDEF";
  rb_slice from = rb_charged_text(L, "url.encode");
  char *out = reserve_charged(L, from.length * 3);
  for (size_t i = 0; i < from.length; i++) {
    char c = from.bytes[i], lower = (char)(c | 0x20);
    bool stays = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (stays) {
      *out++ = c;
      continue;
    }
    *out++ = '%';
    *out++ = digits[(unsigned char)c >> 4];
    *out++ = digits[c & 15];
  }
  return push_until(L, out);
}

void rb_open_encodings(lua_State *L) {
  static const luaL_Reg base64[] = {{"encode", base64_encode}, {"decode", base64_decode}, {NULL, NULL}};
  static const luaL_Reg hex[] = {{"encode", hex_encode}, {"decode", hex_decode}, {NULL, NULL}};
  rb_add_table(L, "base64", base64, NULL);
  rb_add_table(L, "hex", hex, NULL);
}
