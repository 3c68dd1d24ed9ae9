/*
 * Makes a plugin's file-level values constants.
 *
 * All that rules can reach is walked once, from the declared functions and the modules on. Tables are frozen in place: their content moves
 * to a store, so that every holder of the table sees it frozen. Functions that assign a file-level local are refused with their line, as are
 * values with a state of their own (coroutines, iterators, userdata).
 */
#include "vm.h"

/* Stack indices of the walk's own values: tables, and the place of the values that are queued now. VISITED has the place of each value. */
enum { VISITED = 2, STORES = 3, PENDING = 4, PLACE = 5 };

typedef struct {
  lua_State *L;
  int upvalue, line;
  const char *source;
} assignment;

static void note_assignment(void *context, int upvalue, int line) {
  assignment *found = context;
  if (found->line == 0 || line < found->line) {
    found->upvalue = upvalue;
    found->line = line;
  }
}

/* Queues the value on top for the walk, unless it was queued before, and pops it. */
static void enqueue(lua_State *L) {
  int type = lua_type(L, -1);
  if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TTHREAD || type == LUA_TUSERDATA) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, VISITED) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_pushvalue(L, PLACE);
      lua_rawset(L, VISITED);
      lua_pushvalue(L, -1);
      lua_rawseti(L, PENDING, (lua_Integer)lua_rawlen(L, PENDING) + 1);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

/* Refuses the visited value at index. */
static void refuse(lua_State *L, int value, const char *problem) {
  lua_pushvalue(L, value);
  lua_rawget(L, VISITED);
  luaL_error(L, "%s%s", lua_tostring(L, -1), problem);
}

static void seal_function(lua_State *L, int function) {
  if (lua_iscfunction(L, function)) {
    if (lua_getupvalue(L, function, 1))
      refuse(L, function, "a coroutine or an iterator can't be kept at file level, as it would carry over from one event to the next");
    return;
  }
  lua_Debug information;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">S", &information);
  assignment found = {.L = L, .source = information.source};
  rb_bytecode_visitor visitor = {.context = &found, .assigned = note_assignment};
  lua_pushvalue(L, function);
  if (!rb_walk_bytecode(L, &visitor)) luaL_error(L, "the Lua library is not the one that ruled was built for");
  lua_pop(L, 1);
  if (found.line > 0) {
    const char *name = lua_getupvalue(L, function, found.upvalue + 1);
    lua_pushfstring(L, "%s:%d: assigns '%s', a local of the file: file-level values are constants, keep what changes in state",
                    information.source + 1, found.line, name ? name : "?");
    lua_error(L);
  }
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, function, i)); i++) {
    lua_pushfstring(L, "%s:%d: '%s': ", information.source + 1, information.linedefined, name);
    lua_replace(L, PLACE);
    enqueue(L);
  }
}

/* Moves the table's content to a store and makes the table a frozen proxy of it. The store keeps the metatable for now. */
static void seal_table(lua_State *L, int table) {
  luaL_checkstack(L, 16, NULL);
  lua_createtable(L, 0, 0);
  int store = lua_gettop(L);
  if (lua_getmetatable(L, table)) {
    if (!rb_is_array(L, table)) {
      lua_pushvalue(L, -1);
      enqueue(L);
    }
    lua_setmetatable(L, store);
  }
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, store);
    enqueue(L);
    lua_pushvalue(L, -1);
    enqueue(L);
  }
  lua_pushnil(L);
  lua_setmetatable(L, table);
  rb_remove_members(L, table);
  rb_push_empty_proxy(L);
  lua_getmetatable(L, -1);
  lua_setmetatable(L, table);
  lua_pop(L, 1);
  rb_retarget(L, table, store);
  lua_pushvalue(L, table);
  lua_pushvalue(L, store);
  lua_rawset(L, STORES);
}

/* Copies a class's metamethods to the metatable of the proxy at `table`, except those that make it a proxy. */
static void copy_metamethods(lua_State *L, int from, int into, int table) {
  lua_pushnil(L);
  while (lua_next(L, from)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(name, "__gc") == 0 || strcmp(name, "__mode") == 0)
      refuse(L, table, lua_pushfstring(L, "'%s' is not offered to rules", name));
    if (strncmp(name, "__", 2) == 0 && strcmp(name, "__index") != 0 && strcmp(name, "__newindex") != 0) {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, into);
    }
    lua_pop(L, 1);
  }
}

/* `__index` of an object whose class has a function there, which must get the object and never the store. Upvalues: both. */
static int index_behind(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 2, 1);
  return 1;
}

/* Gives the proxy its class's metamethods, now that the class is frozen too. */
static void inherit(lua_State *L, int table, int store) {
  if (!lua_getmetatable(L, store) || rb_is_array(L, store)) return;
  int class = lua_gettop(L);
  lua_pushvalue(L, class);
  if (lua_rawget(L, STORES) != LUA_TTABLE) refuse(L, table, "a frozen table can't be a metatable");
  int members = lua_gettop(L);
  lua_getmetatable(L, table);
  int metatable = lua_gettop(L);
  lua_pushvalue(L, class);
  lua_setfield(L, metatable, "__metatable");
  copy_metamethods(L, members, metatable, table);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "__index");
  if (lua_rawget(L, members) == LUA_TFUNCTION) {
    lua_pushvalue(L, store);
    lua_insert(L, -2);
    lua_pushcclosure(L, index_behind, 2);
    lua_setfield(L, metatable, "__index");
  } else {
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, store);
}

/* Lua looks for metamethods in the raw metatable: so the store of a frozen class is set as the metatable. */
static void finish_tables(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_PROXIES);
  int proxies = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, STORES)) {
    int store = lua_gettop(L);
    lua_pushvalue(L, store);
    lua_pushvalue(L, store - 1);
    lua_rawset(L, proxies);
    inherit(L, store - 1, store);
    lua_settop(L, store - 1);
  }
  lua_pop(L, 1);
}

static void skip_values(lua_State *L, int table) {
  lua_pushnil(L);
  while (lua_next(L, table)) {
    if (rb_push_store(L, -1)) {
      skip_values(L, lua_gettop(L));
      lua_pop(L, 1);
    }
    lua_pushboolean(L, 1);
    lua_rawset(L, VISITED);
  }
}

/* The sandbox's own tables are frozen already, or out of the reach of rules. */
static void skip_environment(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  skip_values(L, lua_gettop(L));
  lua_pushboolean(L, 1);
  lua_rawset(L, VISITED);
}

/* Queues what is declared, and the modules, each under its path alone. */
static void enqueue_roots(lua_State *L, int slot) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, slot);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    size_t length = 0;
    const char *path = slot == RB_SLOT_MODULES ? lua_tolstring(L, -2, &length) : NULL;
    if (path && (length < 4 || strcmp(path + length - 4, ".lua") != 0)) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushfstring(L, path ? "%s:1: " : "", path);
    lua_replace(L, PLACE);
    enqueue(L);
  }
  lua_pop(L, 1);
}

static int seal_body(lua_State *L) {
  lua_settop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushnil(L);
  static const int roots[] = {RB_SLOT_RULES, RB_SLOT_WHENS, RB_SLOT_QUERIES, RB_SLOT_WEBS, RB_SLOT_SINKS, RB_SLOT_MODULES,
                              RB_SLOT_STEPS, RB_SLOT_CHECKS};
  skip_environment(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_GLOBALS);
  lua_pushboolean(L, 1);
  lua_rawset(L, VISITED);
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) enqueue_roots(L, roots[i]);
  for (lua_Integer next = 1; lua_rawgeti(L, PENDING, next) != LUA_TNIL; next++) {
    int index = lua_gettop(L);
    lua_pushvalue(L, index);
    lua_rawget(L, VISITED);
    lua_replace(L, PLACE);
    switch (lua_type(L, index)) {
      case LUA_TFUNCTION: seal_function(L, index); break;
      case LUA_TTABLE:
        if (!rb_is_frozen(L, index)) seal_table(L, index);
        break;
      default: refuse(L, index, "a coroutine can't be kept at file level, as it would carry over from one event to the next");
    }
    lua_settop(L, PLACE);
  }
  lua_settop(L, PLACE);
  finish_tables(L);
  return 0;
}

rb_status rb_seal(rb_vm *vm) {
  rb_status status = rb_protect(vm, seal_body, NULL);
  if (status == RB_OK && !vm->limits.on_line) rb_set_hook(vm);
  return status;
}
