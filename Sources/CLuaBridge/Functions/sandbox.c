/*
 * The globals of a rule: an allow-list of Lua's own library. Functions are replaced that would show an address, depend on a hash seed,
 * see past a proxy or keep a state of their own.
 */
#include <lualib.h>
#include <unistd.h>

#include "vm.h"

static const char *const base_names[] = {"assert", "error", "ipairs", "pcall", "select", "tonumber", "type", "rawequal", "xpcall", NULL};
static const char *const string_names[] = {"byte", "char", "find", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize", "rep",
                                           "reverse", "sub", "unpack", "upper", NULL};
static const char *const table_names[] = {"concat", "insert", "move", "pack", "remove", "unpack", NULL};
static const char *const math_names[] = {"abs",  "acos", "asin", "atan", "ceil", "cos",       "deg",  "exp", "floor",     "fmod", "huge", "log",
                                         "max",  "maxinteger", "min", "mininteger", "modf", "pi", "rad", "sin", "sqrt", "tan", "tointeger", "type",
                                         "ult",  NULL};
static const char *const utf8_names[] = {"char", "charpattern", "codepoint", "codes", "len", "offset", NULL};
static const char *const coroutine_names[] = {"isyieldable", "resume", "running", "status", "yield", NULL};

/* Text ------------------------------------------------------------------------------------------------------------------------- */

static int base_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_callmeta(L, 1, "__tostring")) {
    if (lua_type(L, -1) != LUA_TSTRING) return luaL_error(L, "'__tostring' must return a string");
    return 1;
  }
  rb_push_display(L, 1);
  return 1;
}

static int string_format(lua_State *L) {
  size_t length;
  const char *format = luaL_checklstring(L, 1, &length);
  for (size_t i = 0; i < length; i++) {
    if (format[i] != '%') continue;
    i++;
    while (i < length && strchr("-+ #0123456789.", format[i]) && format[i]) i++;
    if (i < length && format[i] == 'p') return luaL_error(L, "'%%p' is not offered, as an address differs from run to run");
  }
  int count = lua_gettop(L);
  for (int i = 2; i <= count; i++) {
    if (lua_type(L, i) < LUA_TTABLE && lua_type(L, i) != LUA_TLIGHTUSERDATA) continue;
    lua_pushcfunction(L, base_tostring);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    lua_replace(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, count, 1);
  return 1;
}

/* Raw access and metatables ---------------------------------------------------------------------------------------------------- */

static int base_rawget(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  if (rb_push_tracked_store(L, 1)) {
    lua_settop(L, 2);
    lua_gettable(L, 1);
    return 1;
  }
  if (!rb_push_store(L, 1)) lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

static int base_rawset(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  if (rb_is_frozen(L, 1)) return luaL_error(L, "attempt to change a frozen table");
  if (rb_push_store(L, 1)) {
    lua_settop(L, 3);
    lua_settable(L, 1);
  } else {
    lua_rawset(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

static int base_rawlen(lua_State *L) {
  if (lua_type(L, 1) == LUA_TTABLE) {
    lua_settop(L, 1);
    if (!rb_push_store(L, 1)) lua_pushvalue(L, 1);
  } else {
    luaL_checktype(L, 1, LUA_TSTRING);
  }
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
  return 1;
}

static int base_setmetatable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  bool tracked = rb_push_tracked_store(L, 1);
  if (luaL_getmetafield(L, tracked ? 3 : 1, "__metatable") != LUA_TNIL) return luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  if (tracked) rb_vm_of(L)->proxies.untrack(L, 1);
  if (lua_isnil(L, 2)) {
    lua_setmetatable(L, 1);
    return 1;
  }
  if (rb_is_frozen(L, 2)) {
    /* A class that loading froze. getmetatable returns its proxy, so that no rule ever holds the store. */
    rb_push_store(L, 2);
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_PROXIES);
    lua_pushvalue(L, 3);
    if (lua_rawget(L, 4) == LUA_TNIL) return luaL_error(L, "a frozen table can't be a metatable");
    lua_settop(L, 3);
  } else {
    if (rb_push_store(L, 2)) rb_vm_of(L)->proxies.untrack(L, 2);
    lua_pushvalue(L, 2);
  }
  static const char *const refused[] = {"__gc", "__mode"};
  for (int i = 0; i < 2; i++) {
    lua_pushstring(L, refused[i]);
    if (lua_rawget(L, -2) != LUA_TNIL) return luaL_error(L, "'%s' is not offered to rules", refused[i]);
    lua_pop(L, 1);
  }
  lua_setmetatable(L, 1);
  lua_settop(L, 1);
  return 1;
}

static int base_getmetatable(lua_State *L) {
  luaL_checkany(L, 1);
  if (rb_push_tracked_store(L, 1)) lua_replace(L, 1);
  if (!lua_getmetatable(L, 1)) return 0;
  lua_pushliteral(L, "__metatable");
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_PROXIES);
  lua_pushvalue(L, -2);
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  lua_pop(L, 2);
  return 1;
}

/* Coroutines ------------------------------------------------------------------------------------------------------------------- */

/* Each coroutine has a hook of its own. It is charged in advance for the instructions before its first count, which comes in smaller steps. */
static int charged(lua_State *L) {
  rb_take_instructions(rb_vm_of(L), RB_COROUTINE_COUNT);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  lua_State *coroutine = lua_tothread(L, 1);
  if (!coroutine && lua_getupvalue(L, 1, 1)) {
    coroutine = lua_tothread(L, -1);
    lua_pop(L, 1);
  }
  if (coroutine) lua_sethook(coroutine, lua_gethook(coroutine), lua_gethookmask(coroutine), RB_COROUTINE_COUNT);
  return 1;
}

/* Assembly --------------------------------------------------------------------------------------------------------------------- */

static int undeclared(lua_State *L) {
  rb_push_display(L, 2);
  return luaL_error(L, "undeclared global '%s'", lua_tostring(L, -1));
}

static int refuse_global(lua_State *L) {
  rb_push_display(L, 2);
  return luaL_error(L, "assignment to global '%s': a plugin has no globals; declare it local, or keep it in state", lua_tostring(L, -1));
}

static void copy_fields(lua_State *L, int from, int into, const char *const *names) {
  for (; *names; names++) {
    lua_getfield(L, from, *names);
    lua_setfield(L, into, *names);
  }
}

/* Opens a library, makes a table of its allowed functions, and leaves [library, table] on the stack. */
static void open_library(lua_State *L, const char *name, lua_CFunction open, const char *const *names) {
  luaL_requiref(L, name, open, 0);
  lua_newtable(L);
  copy_fields(L, lua_gettop(L) - 1, lua_gettop(L), names);
}

static void set_function(lua_State *L, const char *name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  lua_setfield(L, -2, name);
}

/* Stores the library on top, frozen, in the environment. */
static void close_library(lua_State *L, int environment, const char *name) {
  rb_push_frozen(L);
  lua_setfield(L, environment, name);
  lua_pop(L, 1);
}

static void wrap(lua_State *L, lua_CFunction function, const char *name) {
  lua_getfield(L, -2, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

static void open_libraries(lua_State *L, int environment) {
  luaL_requiref(L, "_G", luaopen_base, 0);
  set_function(L, "ipairs", rb_base_ipairs);
  copy_fields(L, lua_gettop(L), environment, base_names);
  lua_pop(L, 1);

  open_library(L, "string", luaopen_string, string_names);
  wrap(L, string_format, "format");
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
  close_library(L, environment, "string");

  open_library(L, "table", luaopen_table, table_names);
  set_function(L, "sort", rb_table_sort);
  close_library(L, environment, "table");

  open_library(L, "math", luaopen_math, math_names);
  set_function(L, "random", rb_math_random);
  close_library(L, environment, "math");

  open_library(L, "utf8", luaopen_utf8, utf8_names);
  close_library(L, environment, "utf8");

  open_library(L, "coroutine", luaopen_coroutine, coroutine_names);
  wrap(L, charged, "create");
  wrap(L, charged, "wrap");
  close_library(L, environment, "coroutine");
}

/*
 * A metatable can make a table weak at any time with `__mode`. The contents of a weak table depend on when the collector ran, and rules
 * would depend on that too. So the name that Lua looks up, a string that it keeps for ever, is replaced with one that no rule can write.
 */
static void disable_weak_tables(lua_State *L) {
  lua_pushliteral(L, "__mode");
  char *name = (char *)lua_tostring(L, -1);
  if (getentropy(name, strlen("__mode")) != 0) memset(name, 0xff, strlen("__mode"));
  lua_pop(L, 1);
}

void rb_open_sandbox(lua_State *L) {
  disable_weak_tables(L);
  rb_open_registry(L);
  rb_open_proxies(L);
  lua_newtable(L);
  int environment = lua_gettop(L);
  static const luaL_Reg own[] = {{"tostring", base_tostring}, {"pairs", rb_base_pairs},     {"next", rb_base_next},
                                 {"rawget", base_rawget},     {"rawset", base_rawset},   {"rawlen", base_rawlen},
                                 {"setmetatable", base_setmetatable}, {"getmetatable", base_getmetatable}, {NULL, NULL}};
  luaL_setfuncs(L, own, 0);
  open_libraries(L, environment);

  lua_newtable(L);
  lua_pushcfunction(L, undeclared);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, environment);
  lua_pushvalue(L, environment);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);

  rb_push_empty_proxy(L);
  lua_getmetatable(L, -1);
  lua_pushcfunction(L, refuse_global);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
  rb_retarget(L, -1, environment);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_GLOBALS);
  lua_pop(L, 1);
}
