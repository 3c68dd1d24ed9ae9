/*
 * Proxies: tables in front of another table, their store. Frozen ones refuse writes (events, settings, all that a plugin holds once it is
 * loaded); tracked ones record what is read, for explanations.
 *
 * A proxy is an empty table whose metatable has the store as `__index`, so that Lua reads at full speed. Functions of the sandbox that
 * would see the raw table (`next`, `rawget`, the encoder …) call `rb_push_store` first.
 */
#include <string.h>
#include <unistd.h>

#include "bridge.h"

const char rb_key_tracked = 0, rb_key_frozen = 0, rb_null = 0;

void rb_open_proxies(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (getentropy(&vm->store_key, sizeof vm->store_key) != 0) vm->store_key = INT64_MIN + 1;
}

static int refuse_write(lua_State *L) {
  rb_push_display(L, 2);
  return rb_raise(L, RB_KIND_ERROR, "attempt to change '%.200s' in a frozen table; copy what you want to change", lua_tostring(L, -1));
}

static int length_behind(lua_State *L) {
  if (!rb_push_store(L, 1)) lua_settop(L, 1);
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
  return 1;
}

void rb_push_empty_proxy(lua_State *L) {
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 6);
  lua_pushcfunction(L, refuse_write);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, length_behind);
  lua_setfield(L, -2, "__len");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushboolean(L, 1);
  lua_rawsetp(L, -2, &rb_key_frozen);
  lua_setmetatable(L, -2);
}

void rb_retarget(lua_State *L, int proxy, int store) {
  proxy = lua_absindex(L, proxy);
  store = lua_absindex(L, store);
  lua_getmetatable(L, proxy);
  lua_pushvalue(L, store);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, store);
  lua_rawseti(L, -2, rb_vm_of(L)->store_key);
  lua_pop(L, 1);
}

void rb_push_frozen(lua_State *L) {
  luaL_checkstack(L, 6, NULL);
  rb_push_empty_proxy(L);
  rb_retarget(L, -1, -2);
  lua_remove(L, -2);
}

bool rb_push_store(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
  const rb_vm *vm = rb_vm_of(L);
  if (lua_rawgeti(L, -1, vm->store_key) == LUA_TTABLE) {
    lua_replace(L, -2);
    if (vm->event_store && lua_topointer(L, -1) == vm->event_store) rb_fill_event(L, true);
    return true;
  }
  if (lua_rawgetp(L, -2, &rb_key_tracked) == LUA_TTABLE) {
    lua_replace(L, -3);
    lua_pop(L, 1);
    return true;
  }
  lua_pop(L, 3);
  return false;
}

bool rb_is_frozen(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
  bool frozen = lua_rawgetp(L, -1, &rb_key_frozen) != LUA_TNIL;
  lua_pop(L, 2);
  return frozen;
}

bool rb_is_array(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  bool array = lua_topointer(L, -1) == rb_vm_of(L)->array;
  lua_pop(L, 1);
  return array;
}

void rb_mark_array(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ARRAY);
  lua_setmetatable(L, index);
}

/* Tracking --------------------------------------------------------------------------------------------------------------------- */

/* Upvalues of the three functions: the store, the path to it. */

static void push_step(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(2));
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushliteral(L, ".");
    lua_pushvalue(L, 2);
    lua_concat(L, 3);
  } else {
    lua_pushliteral(L, "[");
    rb_push_display(L, 2);
    lua_pushliteral(L, "]");
    lua_concat(L, 4);
  }
}

static void note_read(lua_State *L, const char *path, size_t length) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->reads >= vm->op_limit) return;
  if (rb_has_read(vm, (rb_slice){path, length})) return;
  uint32_t at = rb_op_copy(vm, path, length);
  rb_op *op = rb_add_op(vm, RB_OP_READ);
  vm->reads++;
  op->a = at;
  op->a_length = (uint32_t)length;
}

static int read_tracked(lua_State *L) {
  lua_settop(L, 2);
  push_step(L);
  size_t length;
  const char *path = lua_tolstring(L, 3, &length);
  note_read(L, path, length);
  lua_pushvalue(L, 2);
  lua_gettable(L, lua_upvalueindex(1));
  if (lua_type(L, 4) == LUA_TTABLE && !rb_is_frozen(L, 4)) rb_push_tracked(L, 4, path);
  return 1;
}

static int write_tracked(lua_State *L) {
  lua_settop(L, 3);
  if (!rb_is_frozen(L, 3) && rb_push_store(L, 3)) lua_replace(L, 3);
  lua_settable(L, lua_upvalueindex(1));
  return 0;
}

static int tracked_length(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, lua_upvalueindex(1)));
  return 1;
}

static void set_tracking(lua_State *L, lua_CFunction function, const char *name, int store, const char *path) {
  lua_pushvalue(L, store);
  lua_pushstring(L, path);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

void rb_push_tracked(lua_State *L, int store, const char *path) {
  store = lua_absindex(L, store);
  luaL_checkstack(L, 8, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_TRACKED);
  lua_pushvalue(L, store);
  if (lua_rawget(L, -2) == LUA_TTABLE) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 6);
  set_tracking(L, read_tracked, "__index", store, path);
  set_tracking(L, write_tracked, "__newindex", store, path);
  set_tracking(L, tracked_length, "__len", store, path);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, store);
  lua_rawsetp(L, -2, &rb_key_tracked);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, store);
  lua_pushvalue(L, -2);
  lua_rawset(L, -4);
  lua_remove(L, -2);
}
