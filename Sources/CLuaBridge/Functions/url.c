/*
 * `url.parse`: the parts of a URL, percent-decoded once.
 *
 * The scheme is in lower case, and so is the host of the web's own schemes. `+` stays `+`. An escape that is malformed, or whose byte makes no
 * UTF-8, stays as it is. All of it is C that a signal may leave at any place, so the length of a URL needs no limit.
 */
#include "vm.h"

static bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* The first such byte of a text; its end if there is none. */
static const char *find(rb_slice text, char byte) {
  const char *found = text.length > 0 ? memchr(text.bytes, byte, text.length) : NULL;
  return found ? found : text.bytes + text.length;
}

static rb_slice between(const char *start, const char *end) { return (rb_slice){start, (size_t)(end - start)}; }
static const char *end_of(rb_slice text) { return text.bytes + text.length; }
static bool begins(rb_slice text, const char *with) {
  size_t length = strlen(with);
  return text.length >= length && memcmp(text.bytes, with, length) == 0;
}

/* Escapes ---------------------------------------------------------------------------------------------------------------------- */

/* The byte of the escape that begins at `at`; -1 if none does. */
static int escaped(const char *at, const char *end) {
  if (end - at < 3 || *at != '%') return -1;
  int high = rb_hex_digit(at[1]), low = rb_hex_digit(at[2]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Decodes the character whose first escape is at `at`; returns its length, 0 if the escapes make none. */
static int decode_character(char *into, const char *at, const char *end) {
  int first = escaped(at, end);
  if (first < 0) return 0;
  int length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  into[0] = (char)first;
  for (int i = 1; i < length; i++) {
    int byte = escaped(at + 3 * i, end);
    if (byte < 0) return 0;
    into[i] = (char)byte;
  }
  return rb_is_utf8(into, (size_t)length) ? length : 0;
}

static void push_decoded(lua_State *L, rb_slice text) {
  const char *at = text.bytes, *end = end_of(text);
  if (find(text, '%') == end) {
    lua_pushlstring(L, at, text.length);
    return;
  }
  rb_vm *vm = rb_vm_of(L);
  vm->result.length = 0;
  char *start = rb_reserve(vm, &vm->result, text.length), *out = start;
  while (at < end) {
    char character[4];
    int length = *at == '%' ? decode_character(character, at, end) : 0;
    if (length == 0) {
      *out++ = *at++;
      continue;
    }
    memcpy(out, character, (size_t)length);
    out += length;
    at += 3 * length;
  }
  lua_pushlstring(L, start, (size_t)(out - start));
}

/* Parts ------------------------------------------------------------------------------------------------------------------------ */

static bool is_scheme(rb_slice text) {
  if (text.length == 0 || !is_letter(text.bytes[0])) return false;
  for (size_t i = 0; i < text.length; i++) {
    char c = text.bytes[i];
    if (!is_letter(c) && !rb_is_digit(c) && c != '+' && c != '-' && c != '.') return false;
  }
  return true;
}

/* Whether the string on top is one of the web's own schemes. */
static bool is_web(lua_State *L) {
  static const char *const schemes[] = {"http", "https", "ws", "wss", "ftp"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (strcmp(lua_tostring(L, -1), schemes[i]) == 0) return true;
  return false;
}

/* Reads `:80` into `*port`, which stays as it is without digits; false if it is no port. */
static bool read_port(rb_slice text, long *port) {
  if (text.length < 2) return true;
  long number = 0;
  for (size_t i = 1; i < text.length; i++) {
    if (!rb_is_digit(text.bytes[i])) return false;
    number = number * 10 + (text.bytes[i] - '0');
    if (number > 65535) return false;
  }
  *port = number;
  return true;
}

/* Sets the host and the port of the table at `url` to those of an authority; returns the problem with it, or NULL. */
static const char *read_authority(lua_State *L, int url, rb_slice authority, bool web) {
  const char *start = authority.bytes, *end = end_of(authority);
  for (const char *at = end; at > start; at--) {
    if (at[-1] != '@') continue;
    start = at;
    break;
  }
  rb_slice host, rest;
  if (start < end && *start == '[') {
    const char *close = find(between(start, end), ']');
    if (close == end) return "the URL's host lacks ']'";
    host = between(start + 1, close);
    rest = between(close + 1, end);
    if (rest.length > 0 && *rest.bytes != ':') return "the URL's host goes on behind ']'";
  } else {
    const char *colon = find(between(start, end), ':');
    host = between(start, colon);
    rest = between(colon, end);
  }
  long port = -1;
  if (!read_port(rest, &port)) return "the URL's port is no number up to 65535";
  if (find(host, ' ') != end_of(host)) return "a space in the URL's host";
  if (port >= 0) {
    lua_pushinteger(L, port);
    lua_setfield(L, url, "port");
  }
  push_decoded(L, host);
  if (web) {
    rb_push_lower(L, rb_check_text(L, -1));
    lua_remove(L, -2);
  }
  bool lacks_host = web && lua_rawlen(L, -1) == 0;
  lua_setfield(L, url, "host");
  return lacks_host ? "the URL has no host" : NULL;
}

/* Pushes a table of the parameters; of those with one name the first counts. */
static void push_query(lua_State *L, rb_slice query) {
  lua_newtable(L);
  for (const char *at = query.bytes, *end = end_of(query); at < end;) {
    rb_slice piece = between(at, find(between(at, end), '&'));
    at = end_of(piece) + 1;
    if (piece.length == 0) continue;
    const char *equals = find(piece, '=');
    push_decoded(L, between(piece.bytes, equals));
    lua_pushvalue(L, -1);
    bool known = lua_rawget(L, -3) != LUA_TNIL;
    lua_pop(L, 1);
    if (known) {
      lua_pop(L, 1);
      continue;
    }
    push_decoded(L, equals == end_of(piece) ? between(equals, equals) : between(equals + 1, end_of(piece)));
    lua_rawset(L, -3);
  }
}

static int refuse(lua_State *L, const char *why) {
  lua_pushnil(L);
  lua_pushstring(L, why);
  return 2;
}

static bool has_control_character(rb_slice text) {
  for (size_t i = 0; i < text.length; i++)
    if ((unsigned char)text.bytes[i] < 0x20 || text.bytes[i] == 0x7F) return true;
  return false;
}

static int url_parse(lua_State *L) {
  rb_slice text = rb_charged_text(L, "url.parse");
  if (!rb_is_utf8(text.bytes, text.length)) return refuse(L, "the URL is not UTF-8");
  if (has_control_character(text)) return refuse(L, "a control character in the URL");
  rb_slice scheme = between(text.bytes, find(text, ':'));
  if (end_of(scheme) == end_of(text) || !is_scheme(scheme)) return refuse(L, "the URL has no scheme");
  lua_newtable(L);
  int url = lua_gettop(L);
  rb_push_lower(L, scheme);
  bool web = is_web(L);
  lua_setfield(L, url, "scheme");
  rb_slice rest = between(end_of(scheme) + 1, end_of(text));
  const char *hash = find(rest, '#');
  if (hash != end_of(rest)) {
    push_decoded(L, between(hash + 1, end_of(rest)));
    lua_setfield(L, url, "fragment");
    rest = between(rest.bytes, hash);
  }
  const char *mark = find(rest, '?');
  push_query(L, mark == end_of(rest) ? between(mark, mark) : between(mark + 1, end_of(rest)));
  lua_setfield(L, url, "query");
  rest = between(rest.bytes, mark);
  if (begins(rest, "//")) {
    rb_slice authority = between(rest.bytes + 2, end_of(rest));
    authority = between(authority.bytes, find(authority, '/'));
    const char *wrong = read_authority(L, url, authority, web);
    if (wrong) return refuse(L, wrong);
    rest = between(end_of(authority), end_of(rest));
  } else if (web) {
    return refuse(L, "the URL has no host");
  }
  push_decoded(L, rest);
  lua_setfield(L, url, "path");
  return 1;
}

void rb_open_url(lua_State *L) {
  static const luaL_Reg functions[] = {{"parse", url_parse}, {"encode", rb_url_encode}, {NULL, NULL}};
  rb_add_table(L, "url", functions, NULL);
}
