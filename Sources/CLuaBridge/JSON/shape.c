/*
 * Reads a plugin's state. It has the same members in nearly every event: their names are kept, the shape, so that a text with just these
 * names is read by comparing. A text with other names is read again by the general reader.
 */
#include "vm.h"

enum { PATIENCE = 4, INTEGER_DIGITS = 18 };

/* Whether the text at `at` begins with the label. */
static inline bool has_label(const char *at, const char *end, const rb_shape *shape, uint32_t i) {
  if (end - at < (ptrdiff_t)sizeof shape->labels[i])
    return end - at >= shape->lengths[i] && memcmp(at, shape->labels[i], shape->lengths[i]) == 0;
  uint64_t words[RB_LABEL_WORDS], different = 0;
  memcpy(words, at, sizeof words);
  for (int word = 0; word < RB_LABEL_WORDS; word++) different |= (words[word] ^ shape->labels[i][word]) & shape->masks[i][word];
  return !different;
}

/* Reads an integer without a sign, followed by a comma or a brace, as most members are. */
static inline bool read_integer(rb_reader *r, lua_Integer *value) {
  const char *at = r->at, *limit = r->end - at > INTEGER_DIGITS ? at + INTEGER_DIGITS : r->end;
  lua_Integer read = 0;
  for (; at < limit && *at >= '0' && *at <= '9'; at++) read = read * 10 + (*at - '0');
  if (at == r->at || at == r->end || (*at != ',' && *at != '}') || (*r->at == '0' && at - r->at > 1)) return false;
  r->at = at;
  *value = read;
  return true;
}

/* Pushes the next value; false, and pushes nothing, if it is not as the encoder writes it. */
static inline bool push_next(lua_State *L, rb_reader *r) {
  lua_Integer integer;
  if (read_integer(r, &integer)) {
    lua_pushinteger(L, integer);
    return true;
  }
  rb_vm *vm = r->vm;
  vm->decoding.token_count = 0;
  rb_enter_host(vm);
  bool read = rb_read_value(r);
  rb_exit_host(vm);
  if (!read) return false;
  size_t index = 0;
  rb_push_token(L, vm, &index, false);
  return true;
}

/* Sets the members of the table on top, below which is the table of names; false if the text has other names. */
static bool set_members(lua_State *L, rb_vm *vm, const char *text, size_t length) {
  const rb_shape *shape = &vm->decoding.shape;
  rb_reader r = {.at = text, .end = text + length, .vm = vm, .depth = 1};
  for (uint32_t i = 0; i < shape->count; i++) {
    if (r.at == r.end || *r.at++ != (i > 0 ? ',' : '{') || !has_label(r.at, r.end, shape, i)) return false;
    r.at += shape->lengths[i];
    lua_rawgeti(L, -2, i + 1);
    if (!push_next(L, &r)) return false;
    lua_rawset(L, -3);
  }
  return r.end - r.at == 1 && *r.at == '}';
}

/* Pushes the state if the text has the names of the shape; false, and pushes nothing, otherwise. */
static bool push_shaped(lua_State *L, rb_vm *vm, const char *text, size_t length) {
  rb_shape *shape = &vm->decoding.shape;
  if (shape->count == 0 || !has_label(text + 1, text + length, shape, 0)) return false;
  luaL_checkstack(L, 8, NULL);
  int top = lua_gettop(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_SHAPE);
  lua_createtable(L, 0, (int)shape->count);
  if (set_members(L, vm, text, length)) {
    lua_replace(L, -2);
    return true;
  }
  lua_settop(L, top);
  return false;
}

/* The index after the tokens of the value at `index`. */
static size_t behind(const rb_vm *vm, size_t index) {
  const rb_token *token = &vm->decoding.tokens[index++];
  uint32_t values = token->kind == CJ_OBJECT ? token->length * 2 : token->kind == CJ_ARRAY ? token->length : 0;
  while (values-- > 0) index = behind(vm, index);
  return index;
}

/* Makes the names of the object whose tokens were read the new shape. */
static void learn(lua_State *L, rb_vm *vm) {
  rb_shape *shape = &vm->decoding.shape;
  const rb_token *root = vm->decoding.tokens;
  if (root->kind != CJ_OBJECT || root->length == 0 || root->length > RB_SHAPE) return;
  shape->count = 0;
  lua_createtable(L, (int)root->length, 0);
  size_t index = 1;
  for (uint32_t i = 0; i < root->length; i++) {
    const rb_token *name = &vm->decoding.tokens[index];
    if (name->length > RB_LABEL_NAME) {
      lua_pop(L, 1);
      return;
    }
    rb_push_name(L, name->value.bytes, name->length);
    lua_rawseti(L, -2, i + 1);
    shape->lengths[i] = rb_write_label(shape->labels[i], name->value.bytes, name->length);
    memset(shape->masks[i], 0, sizeof shape->masks[i]);
    memset(shape->masks[i], 0xff, shape->lengths[i]);
    index = behind(vm, index + 1);
  }
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_SHAPE);
  shape->count = root->length;
}

bool rb_push_state(lua_State *L, const char *text, size_t length) {
  rb_vm *vm = rb_vm_of(L);
  rb_shape *shape = &vm->decoding.shape;
  if (push_shaped(L, vm, text, length)) {
    shape->missed = 0;
    return true;
  }
  if (!rb_push_canonical(L, text, length, false)) return rb_push_text(L, text, length, false);
  if (++shape->missed > PATIENCE) {
    shape->missed = 0;
    learn(L, vm);
  }
  return true;
}
