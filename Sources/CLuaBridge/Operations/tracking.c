/* Proxies that record the reads through them, for explanations. */
#include "vm.h"

/* Upvalues of the three functions: the store, the path to it. */

/* Pushes the path of a member: that of the table, and a step to the key. */
static void push_step(lua_State *L, int path, int key) {
  lua_pushvalue(L, path);
  if (lua_type(L, key) == LUA_TSTRING) {
    lua_pushliteral(L, ".");
    lua_pushvalue(L, key);
    lua_concat(L, 3);
  } else {
    lua_pushliteral(L, "[");
    rb_push_display(L, key);
    lua_pushliteral(L, "]");
    lua_concat(L, 4);
  }
}

static void note_read(lua_State *L, rb_slice path) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->operations.reads >= vm->limits.operations || rb_has_read(vm, path)) return;
  rb_op noted = {0};
  rb_add_text(vm, path, &noted.a, &noted.a_length);
  rb_add_op(vm, RB_OP_READ, noted);
  vm->operations.reads++;
}

static int read_tracked(lua_State *L) {
  lua_settop(L, 2);
  push_step(L, lua_upvalueindex(2), 2);
  rb_slice path = rb_text_at(L, 3);
  note_read(L, path);
  lua_pushvalue(L, 2);
  lua_gettable(L, lua_upvalueindex(1));
  if (lua_type(L, 4) == LUA_TTABLE && !rb_is_frozen(L, 4)) rb_push_tracked(L, 4, path.bytes);
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

static void set_proxy(lua_State *L, int store, int proxy) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_TRACKED);
  lua_pushvalue(L, store);
  lua_pushvalue(L, proxy);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static void untrack(lua_State *L, int proxy) {
  luaL_checkstack(L, 12, NULL);
  int store = lua_gettop(L) + 1, path = store + 1, key = path + 1;
  rb_push_store(L, proxy);
  lua_getmetatable(L, proxy);
  lua_getfield(L, -1, "__index");
  lua_getupvalue(L, -1, 2);
  lua_replace(L, path);
  lua_settop(L, path);
  if (!lua_getmetatable(L, store)) lua_pushnil(L);
  lua_setmetatable(L, proxy);
  lua_pushnil(L);
  while (lua_next(L, store)) {
    if (lua_type(L, -1) == LUA_TTABLE && !rb_is_frozen(L, -1)) {
      push_step(L, path, key);
      rb_push_tracked(L, key + 1, lua_tostring(L, -1));
      lua_replace(L, key + 1);
      lua_settop(L, key + 1);
    }
    lua_pushvalue(L, key);
    lua_insert(L, key);
    lua_rawset(L, proxy);
  }
  rb_remove_members(L, store);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, proxy);
  lua_rawsetp(L, -2, &rb_key_tracked);
  lua_setmetatable(L, store);
  set_proxy(L, store, proxy);
  set_proxy(L, proxy, proxy);
  lua_settop(L, store - 1);
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
  lua_remove(L, -2);
  set_proxy(L, store, lua_gettop(L));
}

void rb_open_tracking(lua_State *L) { rb_vm_of(L)->proxies.untrack = untrack; }
