/*
 * JSON to Lua values, straight from the parser's tape.
 *
 * In an event a member that is null is left out; everywhere else, and in arrays, null is `json.null`. Arrays get the arrays' metatable, so
 * that an empty one is still an array.
 */
#include "vm.h"

void rb_set_members(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen) {
  size_t end = cj_end(json.tape, index);
  for (size_t at = cj_first(index); at < end;) {
    size_t value = cj_next(json.tape, at);
    if (mode != RB_DECODE_EVENT || cj_type(json.tape, value) != CJ_NULL) {
      size_t length;
      const char *name = cj_string(json.tape, json.strings, at, &length);
      rb_push_name(L, name, length);
      rb_push_json(L, json, value, mode, frozen);
      lua_rawset(L, -3);
    }
    at = cj_next(json.tape, value);
  }
}

static void push_array(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen) {
  lua_createtable(L, (int)cj_count(json.tape, index), 0);
  size_t end = cj_end(json.tape, index);
  lua_Integer position = 1;
  for (size_t at = cj_first(index); at < end; at = cj_next(json.tape, at)) {
    rb_push_json(L, json, at, mode, frozen);
    lua_rawseti(L, -2, position++);
  }
  rb_mark_array(L, -1);
}

void rb_push_json(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen) {
  const uint64_t *tape = json.tape;
  luaL_checkstack(L, 8, "JSON nested too deep");
  switch (cj_type(tape, index)) {
    case CJ_OBJECT:
      lua_createtable(L, 0, (int)cj_count(tape, index));
      rb_set_members(L, json, index, mode, frozen);
      if (frozen) rb_push_frozen(L);
      break;
    case CJ_ARRAY:
      push_array(L, json, index, mode, frozen);
      if (frozen) rb_push_frozen(L);
      break;
    case CJ_STRING: {
      size_t length;
      const char *bytes = cj_string(tape, json.strings, index, &length);
      lua_pushlstring(L, bytes, length);
      break;
    }
    case CJ_INT64: lua_pushinteger(L, cj_int64(tape, index)); break;
    case CJ_UINT64: lua_pushnumber(L, (lua_Number)cj_uint64(tape, index)); break;
    case CJ_DOUBLE: lua_pushnumber(L, cj_double(tape, index)); break;
    case CJ_TRUE: lua_pushboolean(L, 1); break;
    case CJ_FALSE: lua_pushboolean(L, 0); break;
    default: lua_pushlightuserdata(L, (void *)&rb_null); break;
  }
}

bool rb_push_text(lua_State *L, const char *text, size_t length, bool frozen) {
  if (rb_push_canonical(L, text, length, frozen)) return true;
  rb_vm *vm = rb_vm_of(L);
  /* Copied because the parser reads a little past the end, where a Lua string or a host's buffer may have no memory. */
  rb_set(vm, &vm->scratch, text, length);
  static const char padding[CJ_PADDING];
  rb_append(vm, &vm->scratch, padding, sizeof padding);
  rb_enter_host(vm);
  int error = cj_parse(vm->decoding.parser, vm->scratch.bytes, length, length + CJ_PADDING);
  rb_exit_host(vm);
  if (error != CJ_OK) {
    lua_pushstring(L, cj_error_text(error));
    return false;
  }
  rb_json json = {cj_tape(vm->decoding.parser), cj_strings(vm->decoding.parser)};
  rb_push_json(L, json, CJ_ROOT, RB_DECODE_PLAIN, frozen);
  return true;
}
