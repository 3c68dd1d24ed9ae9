/*
 * Proxies: tables in front of another table, their store. Frozen ones refuse writes (events, settings, a plugin's values once it is
 * loaded); tracked ones record reads, for explanations (tracking.c).
 *
 * A proxy is an empty table whose metatable has the store as `__index`, so that Lua reads at full speed. Functions of the sandbox that
 * would see the raw table (`next`, `rawget`, the encoder …) call `rb_push_store` first.
 */
#include <unistd.h>

#include "vm.h"

const char rb_key_tracked = 0;
/* In a proxy's metatable: true if the proxy can't be written. */
static const char key_frozen = 0;

void rb_open_proxies(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (getentropy(&vm->proxies.store_key, sizeof vm->proxies.store_key) != 0) vm->proxies.store_key = INT64_MIN + 1;
  lua_newtable(L);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  vm->proxies.array = lua_topointer(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_ARRAY);
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
  lua_rawsetp(L, -2, &key_frozen);
  lua_setmetatable(L, -2);
}

void rb_retarget(lua_State *L, int proxy, int store) {
  proxy = lua_absindex(L, proxy);
  store = lua_absindex(L, store);
  lua_getmetatable(L, proxy);
  lua_pushvalue(L, store);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, store);
  lua_rawseti(L, -2, rb_vm_of(L)->proxies.store_key);
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
  if (lua_rawgeti(L, -1, vm->proxies.store_key) == LUA_TTABLE) {
    lua_replace(L, -2);
    if (vm->proxies.unfilled && lua_topointer(L, -1) == vm->proxies.unfilled) vm->proxies.fill(L, true);
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
  bool frozen = lua_rawgetp(L, -1, &key_frozen) != LUA_TNIL;
  lua_pop(L, 2);
  return frozen;
}

bool rb_push_tracked_store(lua_State *L, int index) { return !rb_is_frozen(L, index) && rb_push_store(L, index); }

bool rb_is_array(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  bool array = lua_topointer(L, -1) == rb_vm_of(L)->proxies.array;
  lua_pop(L, 1);
  return array;
}

void rb_push_array(lua_State *L, int first, int last) {
  lua_createtable(L, last - first + 1, 0);
  for (int i = first; i <= last; i++) {
    if (lua_isnil(L, i)) {
      lua_pushlightuserdata(L, (void *)&rb_null);
    } else {
      lua_pushvalue(L, i);
    }
    lua_rawseti(L, -2, i - first + 1);
  }
  rb_mark_array(L, -1);
}

void rb_mark_array(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ARRAY);
  lua_setmetatable(L, index);
}

void rb_remove_members(lua_State *L, int index) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, index);
  }
}
