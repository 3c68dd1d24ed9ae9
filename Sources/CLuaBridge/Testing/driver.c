/* The object `t` of tests: calls go to the host, comparisons are made here. */
#include "vm.h"

static bool deep_equal(lua_State *L, int left, int right, int depth);

/* Whether `right` has each member of the table at `left`. */
static bool members_equal(lua_State *L, int left, int right, int depth) {
  lua_pushnil(L);
  while (lua_next(L, left)) {
    lua_pushvalue(L, -2);
    lua_rawget(L, right);
    bool same = deep_equal(L, lua_gettop(L) - 1, lua_gettop(L), depth + 1);
    lua_pop(L, 2);
    if (!same) {
      lua_pop(L, 1);
      return false;
    }
  }
  return true;
}

/* Puts the failures of an outcome into it: to compare an outcome is to read them. */
static void read_failures(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || luaL_getmetafield(L, index, "__outcome") == LUA_TNIL) return;
  lua_getfield(L, index, "failures");
  lua_pop(L, 2);
}

static bool deep_equal(lua_State *L, int left, int right, int depth) {
  luaL_checkstack(L, 8, NULL);
  read_failures(L, left);
  read_failures(L, right);
  if (depth > RB_DEPTH) luaL_error(L, "values nested deeper than 64 can't be compared");
  if (lua_type(L, left) != LUA_TTABLE || lua_type(L, right) != LUA_TTABLE) return lua_rawequal(L, left, right);
  int top = lua_gettop(L);
  if (!rb_push_store(L, left)) lua_pushvalue(L, left);
  if (!rb_push_store(L, right)) lua_pushvalue(L, right);
  bool same = members_equal(L, top + 1, top + 2, depth) && members_equal(L, top + 2, top + 1, depth);
  lua_settop(L, top);
  return same;
}

static int show_body(lua_State *L) {
  rb_slice text = rb_encode_result(L, 1, RB_KIND_ERROR, "value");
  lua_pushlstring(L, text.bytes, text.length);
  return 1;
}

/* Pushes a value as JSON, or as its plain text when it has none. */
static void push_shown(lua_State *L, int index) {
  lua_pushvalue(L, index);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "nil");
    return;
  }
  lua_pushcfunction(L, show_body);
  lua_insert(L, -2);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  lua_pop(L, 1);
  rb_push_display(L, index);
}

static int fail(lua_State *L, const char *message) {
  luaL_where(L, 1);
  lua_pushstring(L, message);
  lua_concat(L, 2);
  return lua_error(L);
}

/* Whether the key at `left` is before the one at `right`: numbers, then texts in byte order, then others. */
static bool is_before(lua_State *L, int left, int right) {
  int types[2] = {lua_type(L, left), lua_type(L, right)};
  if (types[0] == types[1] && (types[0] == LUA_TNUMBER || types[0] == LUA_TSTRING)) return lua_compare(L, left, right, LUA_OPLT);
  return types[0] == LUA_TNUMBER || (types[0] == LUA_TSTRING && types[1] != LUA_TNUMBER);
}

/* Makes the value at `best` the first key of the table at `table` whose values differ in the tables at `left` and `right`. */
static void find_different(lua_State *L, int table, int left, int right, int best, int depth) {
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    int key = lua_gettop(L);
    if (!lua_isnil(L, best) && !is_before(L, key, best)) continue;
    lua_pushvalue(L, key);
    lua_rawget(L, left);
    lua_pushvalue(L, key);
    lua_rawget(L, right);
    if (!deep_equal(L, key + 1, key + 2, depth)) lua_copy(L, key, best);
    lua_settop(L, key);
  }
}

static void append_key(lua_State *L, rb_buffer *path, int key) {
  rb_vm *vm = rb_vm_of(L);
  char text[40];
  size_t length;
  const char *bytes;
  if (lua_type(L, key) != LUA_TSTRING) {
    rb_push_display(L, key);
    bytes = lua_tolstring(L, -1, &length);
    rb_append(vm, path, "[", 1);
    rb_append(vm, path, bytes, length);
    rb_append(vm, path, "]", 1);
    lua_pop(L, 1);
    return;
  }
  bytes = lua_tolstring(L, key, &length);
  bool is_name = length > 0 && length < sizeof text && strspn(bytes, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == length;
  if (is_name && (bytes[0] < '0' || bytes[0] > '9')) {
    if (path->length > 0) rb_append(vm, path, ".", 1);
    rb_append(vm, path, bytes, length);
  } else {
    rb_append(vm, path, "[\"", 2);
    rb_append(vm, path, bytes, length);
    rb_append(vm, path, "\"]", 2);
  }
}

/* Goes down to the first difference of the values on top of the stack, which stay there alone, and leaves its path in `path`. */
static void push_difference(lua_State *L, rb_buffer *path) {
  for (int depth = 1; lua_type(L, -1) == LUA_TTABLE && lua_type(L, -2) == LUA_TTABLE; depth++) {
    int top = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    if (!rb_push_store(L, top - 1)) lua_pushvalue(L, top - 1);
    if (!rb_push_store(L, top)) lua_pushvalue(L, top);
    lua_pushnil(L);
    find_different(L, top + 1, top + 1, top + 2, top + 3, depth);
    find_different(L, top + 2, top + 1, top + 2, top + 3, depth);
    append_key(L, path, top + 3);
    lua_pushvalue(L, top + 3);
    lua_rawget(L, top + 1);
    lua_replace(L, top - 1);
    lua_rawget(L, top + 2);
    lua_replace(L, top);
    lua_settop(L, top);
  }
}

static int test_equal(lua_State *L) {
  rb_note_comparison(rb_vm_of(L));
  lua_settop(L, 4);
  if (deep_equal(L, 2, 3, 0)) return 0;
  push_shown(L, 3);
  push_shown(L, 2);
  const char *note = lua_isstring(L, 4) ? lua_tostring(L, 4) : "";
  const char *message =
      lua_pushfstring(L, "%s%sexpected %s\n     got %s", note, *note ? ": " : "", lua_tostring(L, 5), lua_tostring(L, 6));
  if (lua_type(L, 2) != LUA_TTABLE || lua_type(L, 3) != LUA_TTABLE) return fail(L, message);
  rb_buffer *path = &rb_vm_of(L)->scratch;
  path->length = 0;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  push_difference(L, path);
  lua_pushlstring(L, path->bytes, path->length);
  push_shown(L, 9);
  push_shown(L, 8);
  return fail(L, lua_pushfstring(L, "%s\n   first %s: expected %s, got %s", message, lua_tostring(L, 10), lua_tostring(L, 11),
                                 lua_tostring(L, 12)));
}

static int test_truthy(lua_State *L) {
  rb_note_comparison(rb_vm_of(L));
  lua_settop(L, 3);
  if (lua_toboolean(L, 2)) return 0;
  const char *note = lua_isstring(L, 3) ? lua_tostring(L, 3) : "";
  push_shown(L, 2);
  return fail(L, lua_pushfstring(L, "%s%sexpected something true, got %s", note, *note ? ": " : "", lua_tostring(L, -1)));
}

static int test_fails(lua_State *L) {
  rb_note_comparison(rb_vm_of(L));
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) return fail(L, "expected an error, but there was none");
  rb_push_display(L, 4);
  if (lua_isnil(L, 3)) return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_GLOBALS);
  lua_getfield(L, -1, "string");
  lua_getfield(L, -1, "find");
  lua_pushvalue(L, 5);
  lua_pushvalue(L, 3);
  lua_call(L, 2, 1);
  if (lua_toboolean(L, -1)) return 0;
  return fail(L, lua_pushfstring(L, "expected an error like '%s', got '%s'", lua_tostring(L, 3), lua_tostring(L, 5)));
}

/* Calls ------------------------------------------------------------------------------------------------------------------------ */

/* Raises an error that was handled before, in other words; its place stays, or with false is none. */
static int raise_again(lua_State *L) {
  rb_keep_place(rb_vm_of(L), lua_toboolean(L, 2));
  lua_settop(L, 1);
  return lua_error(L);
}

/* Upvalue: the method's name. The arguments are passed as one JSON array. */
static int test_host(lua_State *L) {
  luaL_argcheck(L, lua_type(L, 1) == LUA_TTABLE, 1, "call it with a colon, as in t:event(…)");
  rb_push_array(L, 2, lua_gettop(L));
  rb_slice arguments = rb_encode_result(L, -1, RB_KIND_VALUE, "arguments");
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushlstring(L, arguments.bytes, arguments.length);
  return rb_call_host(L, RB_CALL_TEST, 1);
}

static void set_host_methods(lua_State *L, const char *const *names) {
  for (; *names; names++) {
    lua_pushstring(L, *names);
    lua_pushcclosure(L, test_host, 1);
    lua_setfield(L, -2, *names);
  }
}

void rb_open_driver(lua_State *L) {
  static const char *const offered[] = {"at",   "advance", "board", "given",   "query", "settings", "state",    "effects",  "sent",    "decided",
                                        "web", "sink",    "now",   "failures", "snapshot", "replay", "failing", "retry", "counters", "captured", NULL};
  static const char *const hidden[] = {"event", "number", "expect", "mark", "restore", "seed", NULL};
  static const luaL_Reg own[] = {{"equal", test_equal}, {"truthy", test_truthy}, {"fails", test_fails}, {NULL, NULL}};
  static const luaL_Reg handlers[] = {{"note_place", rb_note_place}, {"raise_again", raise_again}, {NULL, NULL}};
  lua_newtable(L);
  luaL_setfuncs(L, own, 0);
  set_host_methods(L, offered);
  lua_newtable(L);
  set_host_methods(L, hidden);
  luaL_setfuncs(L, handlers, 0);
  rb_open_cases(L, lua_gettop(L) - 1, lua_gettop(L));
  lua_pop(L, 1);
  rb_push_frozen(L);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_DRIVER);
}

static int test_body(lua_State *L) {
  int index = *(const int *)lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_TESTS);
  lua_rawgeti(L, -1, index + 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DRIVER);
  lua_call(L, 1, 0);
  return 0;
}

rb_status rb_test(rb_vm *vm, int index, const rb_budget *budget) {
  rb_start_budget(vm, budget);
  rb_set_in_test(vm, true);
  rb_status status = rb_protect(vm, test_body, &index);
  rb_set_in_test(vm, false);
  return status;
}
