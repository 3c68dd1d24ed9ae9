/*
 * Reads JSON as the encoder writes it, in one pass: without white space, escapes, and numbers that are hard to round.
 *
 * The text is cut into tokens first. So tables are made in their final size, and other texts are refused before Lua is touched: these need the
 * general parser. Where both parsers accept a text, they agree.
 */
#include <stdlib.h>

#include "vm.h"

typedef rb_reader reader;

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

enum { LARGEST_POWER = 22, MANTISSA_DIGITS = 15, INTEGER_DIGITS = 18, LONGEST = 256 * 1024 };

/* Adds a token and returns it, NULL when there is no memory. */
static rb_token *add_token(rb_vm *vm, int kind) {
  if (vm->decoding.token_count == vm->decoding.token_capacity) {
    size_t wanted = vm->decoding.token_capacity ? vm->decoding.token_capacity * 2 : 128;
    rb_token *tokens = realloc(vm->decoding.tokens, wanted * sizeof *tokens);
    if (!tokens) return NULL;
    vm->decoding.tokens = tokens;
    vm->decoding.token_capacity = wanted;
  }
  rb_token *token = &vm->decoding.tokens[vm->decoding.token_count++];
  token->kind = kind;
  return token;
}

/* The closing quote of the string that begins at `at`; NULL if something that needs care comes before it. Sets `plain` if it is ASCII. */
static const char *find_quote(const char *at, const char *end, bool *plain) {
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    uint64_t found = rb_unplain(word);
    if (!found) continue;
    at += __builtin_ctzll(found) / 8;
    if (*at == '"') {
      *plain = true;
      return at;
    }
    break;
  }
  *plain = false;
  while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20) at++;
  return at < end && *at == '"' ? at : NULL;
}

/* Reads a string, from after its opening quote. */
static bool read_string(reader *r) {
  bool plain;
  const char *start = r->at, *quote = find_quote(start, r->end, &plain);
  if (!quote || (!plain && !rb_is_utf8(start, (size_t)(quote - start)))) return false;
  rb_token *token = add_token(r->vm, CJ_STRING);
  if (!token) return false;
  token->length = (uint32_t)(quote - start);
  token->value.bytes = start;
  r->at = quote + 1;
  return true;
}

static bool is_digit(const reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

/* Reads digits into `*value`; returns how many. */
static int read_digits(reader *r, uint64_t *value) {
  int count = 0;
  for (; is_digit(r) && count <= INTEGER_DIGITS; count++) *value = *value * 10 + (uint64_t)(*r->at++ - '0');
  return count;
}

static bool read_exponent(reader *r, int *exponent) {
  r->at++;
  bool negative = r->at < r->end && *r->at == '-';
  if (r->at < r->end && (*r->at == '-' || *r->at == '+')) r->at++;
  uint64_t value = 0;
  int digits = read_digits(r, &value);
  if (digits == 0 || digits > 3) return false;
  *exponent += negative ? -(int)value : (int)value;
  return true;
}

/* Reads a fraction or an exponent after `digits`. */
static bool read_fraction(reader *r, bool negative, uint64_t value, int digits) {
  int exponent = 0;
  if (*r->at == '.') {
    r->at++;
    int more = read_digits(r, &value);
    if (more == 0) return false;
    digits += more;
    exponent = -more;
  }
  if (r->at < r->end && (*r->at == 'e' || *r->at == 'E') && !read_exponent(r, &exponent)) return false;
  /* The digits and the power of ten are exact doubles, so that one operation rounds correctly. */
  if (digits > MANTISSA_DIGITS || exponent < -LARGEST_POWER || exponent > LARGEST_POWER) return false;
  double number = exponent < 0 ? (double)value / powers[-exponent] : (double)value * powers[exponent];
  rb_token *token = add_token(r->vm, CJ_DOUBLE);
  if (token) token->value.number = negative ? -number : number;
  return token;
}

static bool read_number(reader *r) {
  const char *at = r->at, *end = r->end;
  bool negative = *at == '-';
  if (negative) at++;
  uint64_t value = 0;
  const char *first = at;
  for (; at < end && *at >= '0' && *at <= '9'; at++) value = value * 10 + (uint64_t)(*at - '0');
  ptrdiff_t digits = at - first;
  if (digits == 0 || digits > INTEGER_DIGITS || (digits > 1 && *first == '0')) return false;
  r->at = at;
  if (at < end && (*at == '.' || *at == 'e' || *at == 'E')) return read_fraction(r, negative, value, (int)digits);
  if (negative && value == 0) return false;
  rb_token *token = add_token(r->vm, CJ_INT64);
  if (token) token->value.integer = negative ? -(int64_t)value : (int64_t)value;
  return token;
}

static bool read_word(reader *r, const char *word, size_t length, int kind) {
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return add_token(r->vm, kind);
}

static bool take(reader *r, char byte) {
  if (r->at == r->end || *r->at != byte) return false;
  r->at++;
  return true;
}

static bool read_container(reader *r, int kind, char close) {
  size_t index = r->vm->decoding.token_count;
  uint32_t count = 0;
  if (++r->depth > RB_DEPTH || !add_token(r->vm, kind)) return false;
  r->at++;
  if (!take(r, close)) {
    do {
      if (kind == CJ_OBJECT && !(take(r, '"') && read_string(r) && take(r, ':'))) return false;
      if (!rb_read_value(r)) return false;
      count++;
    } while (take(r, ','));
    if (!take(r, close)) return false;
  }
  r->vm->decoding.tokens[index].length = count;
  r->depth--;
  return true;
}

bool rb_read_value(rb_reader *r) {
  if (r->at == r->end) return false;
  switch (*r->at) {
    case '{': return read_container(r, CJ_OBJECT, '}');
    case '[': return read_container(r, CJ_ARRAY, ']');
    case '"': r->at++; return read_string(r);
    case 't': return read_word(r, "true", 4, CJ_TRUE);
    case 'f': return read_word(r, "false", 5, CJ_FALSE);
    case 'n': return read_word(r, "null", 4, CJ_NULL);
    default: return read_number(r);
  }
}

static void push_object(lua_State *L, rb_vm *vm, size_t *index, uint32_t count, bool frozen) {
  luaL_checkstack(L, 8, "JSON nested too deep");
  lua_createtable(L, 0, (int)count);
  for (uint32_t i = 0; i < count; i++) {
    const rb_token name = vm->decoding.tokens[(*index)++];
    rb_push_name(L, name.value.bytes, name.length);
    rb_push_token(L, vm, index, frozen);
    lua_rawset(L, -3);
  }
  if (frozen) rb_push_frozen(L);
}

/* With room for one more element where a rule may append one. */
static void push_array(lua_State *L, rb_vm *vm, size_t *index, uint32_t count, bool frozen) {
  luaL_checkstack(L, 8, "JSON nested too deep");
  lua_createtable(L, (int)count + !frozen, 0);
  for (uint32_t i = 1; i <= count; i++) {
    rb_push_token(L, vm, index, frozen);
    lua_rawseti(L, -2, i);
  }
  rb_mark_array(L, -1);
  if (frozen) rb_push_frozen(L);
}

void rb_push_token(lua_State *L, rb_vm *vm, size_t *index, bool frozen) {
  const rb_token *token = &vm->decoding.tokens[(*index)++];
  switch (token->kind) {
    case CJ_OBJECT: push_object(L, vm, index, token->length, frozen); break;
    case CJ_ARRAY: push_array(L, vm, index, token->length, frozen); break;
    case CJ_STRING: lua_pushlstring(L, token->value.bytes, token->length); break;
    case CJ_INT64: lua_pushinteger(L, token->value.integer); break;
    case CJ_DOUBLE: lua_pushnumber(L, token->value.number); break;
    case CJ_TRUE: lua_pushboolean(L, 1); break;
    case CJ_FALSE: lua_pushboolean(L, 0); break;
    default: lua_pushlightuserdata(L, (void *)&rb_null); break;
  }
}

bool rb_push_canonical(lua_State *L, const char *text, size_t length, bool frozen) {
  rb_vm *vm = rb_vm_of(L);
  if (length > LONGEST) return false;
  reader r = {.at = text, .end = text + length, .vm = vm};
  vm->decoding.token_count = 0;
  rb_enter_host(vm);
  bool read = rb_read_value(&r) && r.at == r.end;
  rb_exit_host(vm);
  if (!read) return false;
  size_t index = 0;
  rb_push_token(L, vm, &index, frozen);
  return true;
}

void rb_trim_tokens(rb_vm *vm) {
  rb_decoding *decoding = &vm->decoding;
  if (decoding->token_capacity * sizeof *decoding->tokens <= RB_KEPT_BYTES) return;
  free(decoding->tokens);
  decoding->tokens = NULL;
  decoding->token_capacity = 0;
}

/* Names ------------------------------------------------------------------------------------------------------------------------ */

void rb_push_name(lua_State *L, const char *bytes, size_t length) {
  rb_vm *vm = rb_vm_of(L);
  if (length > 16) {
    lua_pushlstring(L, bytes, length);
    return;
  }
  uint64_t first = length < 8 ? rb_short_word(bytes, length, 0) : 0, last = 0;
  if (length >= 8) {
    memcpy(&first, bytes, 8);
    memcpy(&last, bytes + length - 8, 8);
  }
  uint64_t mixed = (first ^ (last << 1) ^ length) * UINT64_C(0x9E3779B97F4A7C15);
  unsigned slot = (unsigned)(mixed >> 57);
  rb_name *name = &vm->decoding.names[slot];
  if (name->length == length + 1 && name->first == first && name->last == last) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_NAMES + (int)slot);
    return;
  }
  lua_pushlstring(L, bytes, length);
  name->length = 0;
  lua_pushvalue(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_NAMES + (int)slot);
  *name = (rb_name){.first = first, .last = last, .length = length + 1};
}
