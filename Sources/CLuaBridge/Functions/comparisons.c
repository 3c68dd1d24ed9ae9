/* `semver.compare` and `ip.within`. */
#include <arpa/inet.h>

#include "vm.h"

/* Versions --------------------------------------------------------------------------------------------------------------------- */

/* A version of semver.org 2.0.0: the three numbers, and the part after the `-`, which may be empty. */
typedef struct {
  rb_slice core[3], prerelease;
} version;

/* Reads up to one of `ends`, or to the end of the text. */
static rb_slice take_until(rb_slice *text, const char *ends) {
  rb_slice taken = {text->bytes, 0};
  while (taken.length < text->length && !strchr(ends, text->bytes[taken.length])) taken.length++;
  *text = (rb_slice){taken.bytes + taken.length, text->length - taken.length};
  return taken;
}

static bool take(rb_slice *text, char c) {
  if (text->length == 0 || text->bytes[0] != c) return false;
  *text = (rb_slice){text->bytes + 1, text->length - 1};
  return true;
}

static bool is_number(rb_slice text) {
  for (size_t i = 0; i < text.length; i++)
    if (!rb_is_digit(text.bytes[i])) return false;
  return text.length > 0;
}

static bool has_leading_zero(rb_slice number) { return number.length > 1 && number.bytes[0] == '0'; }

/* Whether a text is identifiers with dots between them; numbers among them may have leading zeros where `zeros` says so. */
static bool are_identifiers(rb_slice text, bool zeros) {
  do {
    rb_slice one = take_until(&text, ".");
    if (one.length == 0 || (!zeros && is_number(one) && has_leading_zero(one))) return false;
    for (size_t i = 0; i < one.length; i++) {
      char lower = (char)(one.bytes[i] | 0x20);
      if (!rb_is_digit(one.bytes[i]) && !(lower >= 'a' && lower <= 'z') && one.bytes[i] != '-') return false;
    }
  } while (take(&text, '.'));
  return true;
}

static bool read_version(rb_slice text, version *into) {
  if (memchr(text.bytes, 0, text.length)) return false;
  take(&text, 'v');
  for (int i = 0; i < 3; i++) {
    if (i > 0 && !take(&text, '.')) return false;
    into->core[i] = take_until(&text, ".-+");
    if (!is_number(into->core[i]) || has_leading_zero(into->core[i])) return false;
  }
  into->prerelease = (rb_slice){text.bytes, 0};
  if (take(&text, '-')) {
    into->prerelease = take_until(&text, "+");
    if (!are_identifiers(into->prerelease, false)) return false;
  }
  return take(&text, '+') ? are_identifiers(text, true) : text.length == 0;
}

bool rb_is_version(rb_slice text) {
  version read;
  return read_version(text, &read);
}

static int sign(size_t left, size_t right) { return (left > right) - (left < right); }

static int compare_bytes(rb_slice left, rb_slice right) {
  int order = memcmp(left.bytes, right.bytes, left.length < right.length ? left.length : right.length);
  return order ? (order > 0) - (order < 0) : sign(left.length, right.length);
}

/* Numbers have any length, and no leading zeros. */
static int compare_numbers(rb_slice left, rb_slice right) {
  return left.length == right.length ? compare_bytes(left, right) : sign(left.length, right.length);
}

static int compare_prereleases(rb_slice left, rb_slice right) {
  if (left.length == 0 || right.length == 0) return (left.length == 0) - (right.length == 0);
  for (;;) {
    rb_slice a = take_until(&left, "."), b = take_until(&right, ".");
    bool is_a = is_number(a), is_b = is_number(b);
    int order = is_a && is_b ? compare_numbers(a, b) : is_a != is_b ? (is_a ? -1 : 1) : compare_bytes(a, b);
    if (order) return order;
    bool more = take(&left, '.');
    if (more != take(&right, '.')) return more ? 1 : -1;
    if (!more) return 0;
  }
}

static int semver_compare(lua_State *L) {
  version versions[2];
  luaL_checkany(L, 2);
  for (int i = 0; i < 2; i++) {
    if (lua_type(L, i + 1) == LUA_TSTRING) rb_charge(L, rb_check_text(L, i + 1).length);
    if (lua_type(L, i + 1) != LUA_TSTRING || !read_version(rb_check_text(L, i + 1), &versions[i])) {
      lua_pushnil(L);
      return 1;
    }
  }
  int order = 0;
  for (int i = 0; order == 0 && i < 3; i++) order = compare_numbers(versions[0].core[i], versions[1].core[i]);
  lua_pushinteger(L, order ? order : compare_prereleases(versions[0].prerelease, versions[1].prerelease));
  return 1;
}

/* Addresses -------------------------------------------------------------------------------------------------------------------- */

/* An address of 4 or 16 bytes; `mapped`: it was written as IPv6. */
typedef struct {
  unsigned char bytes[16];
  int length;
  bool mapped;
} address;

static bool read_address(rb_slice text, address *into) {
  static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
  char copy[INET6_ADDRSTRLEN];
  if (text.length >= sizeof copy || memchr(text.bytes, 0, text.length)) return false;
  memcpy(copy, text.bytes, text.length);
  copy[text.length] = 0;
  into->mapped = false;
  into->length = 4;
  if (inet_pton(AF_INET, copy, into->bytes) == 1) return true;
  into->length = 16;
  if (inet_pton(AF_INET6, copy, into->bytes) != 1) return false;
  if (memcmp(into->bytes, mapped, sizeof mapped) != 0) return true;
  memmove(into->bytes, into->bytes + sizeof mapped, 4);
  into->length = 4;
  into->mapped = true;
  return true;
}

/* Reads an address with the length of its prefix; without one it is all bits. */
static bool read_block(rb_slice text, address *base, int *bits) {
  if (memchr(text.bytes, 0, text.length)) return false;
  rb_slice host = take_until(&text, "/");
  if (!read_address(host, base)) return false;
  *bits = base->length * 8;
  if (!take(&text, '/')) return true;
  if (!is_number(text) || has_leading_zero(text) || text.length > 3) return false;
  int given = 0;
  for (size_t i = 0; i < text.length; i++) given = given * 10 + (text.bytes[i] - '0');
  if (base->mapped) given -= 96;
  bool fits = given >= 0 && given <= *bits;
  *bits = given;
  return fits;
}

bool rb_is_address(rb_slice text) {
  address one;
  return read_address(text, &one);
}

bool rb_is_block(rb_slice text) {
  address base;
  int bits;
  return read_block(text, &base, &bits);
}

static int ip_within(lua_State *L) {
  address one, base;
  int bits;
  luaL_checkany(L, 2);
  for (int i = 1; i <= 2; i++)
    if (lua_type(L, i) == LUA_TSTRING) rb_charge(L, rb_check_text(L, i).length);
  if (lua_type(L, 1) != LUA_TSTRING || !read_address(rb_check_text(L, 1), &one) || lua_type(L, 2) != LUA_TSTRING ||
      !read_block(rb_check_text(L, 2), &base, &bits)) {
    lua_pushnil(L);
    return 1;
  }
  int whole = bits / 8, rest = bits % 8;
  bool within = one.length == base.length && memcmp(one.bytes, base.bytes, (size_t)whole) == 0 &&
                (rest == 0 || (one.bytes[whole] ^ base.bytes[whole]) >> (8 - rest) == 0);
  lua_pushboolean(L, within);
  return 1;
}

void rb_open_comparisons(lua_State *L) {
  static const luaL_Reg semver[] = {{"compare", semver_compare}, {NULL, NULL}}, ip[] = {{"within", ip_within}, {NULL, NULL}};
  rb_add_table(L, "semver", semver, NULL);
  rb_add_table(L, "ip", ip, NULL);
}
