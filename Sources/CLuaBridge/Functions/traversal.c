/*
 * `pairs` and `next` in an order that depends on no hash seed and no address: numbers ascending, then strings in byte order, then booleans.
 * And `ipairs`, which reads the store of frozen tables.
 */
#include "vm.h"

/* Compares the keys at two stack indices: -1, 0 or 1. Numbers come first, then strings, then booleans. */
static int compare_keys(lua_State *L, int left, int right) {
  int a = lua_type(L, left), b = lua_type(L, right);
  if (a != b) {
    int rank_a = a == LUA_TNUMBER ? 0 : a == LUA_TSTRING ? 1 : 2;
    int rank_b = b == LUA_TNUMBER ? 0 : b == LUA_TSTRING ? 1 : 2;
    return rank_a < rank_b ? -1 : 1;
  }
  if (a == LUA_TNUMBER) return lua_compare(L, left, right, LUA_OPLT) ? -1 : lua_rawequal(L, left, right) ? 0 : 1;
  if (a == LUA_TBOOLEAN) return lua_toboolean(L, left) - lua_toboolean(L, right);
  size_t length_a, length_b;
  const char *text_a = lua_tolstring(L, left, &length_a), *text_b = lua_tolstring(L, right, &length_b);
  int order = memcmp(text_a, text_b, length_a < length_b ? length_a : length_b);
  return order ? order : (length_a > length_b) - (length_a < length_b);
}

static void check_key(lua_State *L, int index) {
  int type = lua_type(L, index);
  if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN)
    luaL_error(L, "a %s as a key can't be visited: its order would differ from run to run", luaL_typename(L, index));
}

/* Sifts the key at `root` down a heap of `count` keys in the array at `keys`, whose first is the least. */
static void sift(lua_State *L, int keys, lua_Integer root, lua_Integer count) {
  for (;;) {
    lua_Integer child = root * 2;
    if (child > count) return;
    lua_rawgeti(L, keys, root);
    lua_rawgeti(L, keys, child);
    if (child < count) {
      lua_rawgeti(L, keys, child + 1);
      if (compare_keys(L, -1, -2) < 0) {
        child++;
        lua_remove(L, -2);
      } else {
        lua_pop(L, 1);
      }
    }
    if (compare_keys(L, -2, -1) <= 0) {
      lua_pop(L, 2);
      return;
    }
    lua_rawseti(L, keys, root);
    lua_rawseti(L, keys, child);
    root = child;
  }
}

/* Sorts few keys. */
static void sort_keys(lua_State *L, int keys, lua_Integer count) {
  for (lua_Integer i = 2; i <= count; i++) {
    lua_rawgeti(L, keys, i);
    lua_Integer j = i - 1;
    for (; j >= 1; j--) {
      lua_rawgeti(L, keys, j);
      if (compare_keys(L, -1, -2) <= 0) {
        lua_pop(L, 1);
        break;
      }
      lua_rawseti(L, keys, j + 1);
    }
    lua_rawseti(L, keys, j + 1);
  }
}

enum { STEP_KEYS = 1, STEP_TABLE, STEP_STORE, STEP_INDEX, STEP_HEAP };

/* Pushes the next key: of the sorted ones the one after the index reached, or the least of the heap, which is taken off. */
static int push_next_key(lua_State *L) {
  int keys = lua_upvalueindex(STEP_KEYS);
  lua_Integer count = lua_tointeger(L, lua_upvalueindex(STEP_HEAP));
  if (count < 0) {
    lua_Integer index = lua_tointeger(L, lua_upvalueindex(STEP_INDEX)) + 1;
    if (lua_rawgeti(L, keys, index) == LUA_TNIL) return LUA_TNIL;
    lua_pushinteger(L, index);
    lua_replace(L, lua_upvalueindex(STEP_INDEX));
    return lua_type(L, -1);
  }
  if (count == 0) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  lua_rawgeti(L, keys, 1);
  lua_rawgeti(L, keys, count);
  lua_rawseti(L, keys, 1);
  lua_pushnil(L);
  lua_rawseti(L, keys, count);
  lua_pushinteger(L, count - 1);
  lua_replace(L, lua_upvalueindex(STEP_HEAP));
  sift(L, keys, 1, count - 1);
  return lua_type(L, -1);
}

static int pairs_step(lua_State *L) {
  while (push_next_key(L) != LUA_TNIL) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, lua_upvalueindex(STEP_STORE)) != LUA_TNIL) {
      if (!lua_rawequal(L, lua_upvalueindex(STEP_TABLE), lua_upvalueindex(STEP_STORE))) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_gettable(L, lua_upvalueindex(STEP_TABLE));
      }
      return 2;
    }
    lua_pop(L, 2);
  }
  return 1;
}

/* Refuses a value that no loop can go over, and names the argument's text. */
static void check_traversable(lua_State *L, const char *function) {
  int type = lua_type(L, 1);
  if (type == LUA_TTABLE || luaL_getmetafield(L, 1, "__index") != LUA_TNIL) return;
  lua_Debug frame;
  const char *written = NULL;
  if (lua_getstack(L, 1, &frame) && lua_getinfo(L, "Sl", &frame) && frame.source[0] == '@' && frame.currentline > 0) {
    rb_value place[3] = {
        {.type = RB_STRING, .text = {frame.source + 1, frame.srclen - 1}},
        {.type = RB_INTEGER, .integer = frame.currentline},
        {.type = RB_STRING, .text = {function, strlen(function)}},
    };
    if (rb_vm_of(L)->host.call && rb_ask_host(L, RB_CALL_ARGUMENT, place, 3) == 1) written = lua_tostring(L, -1);
  }
  luaL_error(L, "bad argument #1 to '%s' (table expected, got %s%s%s)", function, type == LUA_TNONE ? "no value" : lua_typename(L, type),
             written ? ": " : "", written ? written : "");
}

int rb_base_pairs(lua_State *L) {
  check_traversable(L, "pairs");
  if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    return 3;
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  if (!rb_push_store(L, 1)) lua_pushvalue(L, 1);
  lua_newtable(L);
  lua_Integer count = 0;
  bool sorted = true;
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    check_key(L, -1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 3, ++count);
    if (sorted && count > 1) {
      lua_rawgeti(L, 3, count - 1);
      sorted = compare_keys(L, -1, -2) < 0;
      lua_pop(L, 1);
    }
  }
  /* Many keys are sorted as far as they are visited: a loop that ends early does not pay for the rest. */
  bool heap = !sorted && count > 12;
  if (heap) {
    for (lua_Integer root = count / 2; root >= 1; root--) sift(L, 3, root, count);
  } else if (!sorted) {
    sort_keys(L, 3, count);
  }
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushinteger(L, 0);
  lua_pushinteger(L, heap ? count : -1);
  lua_pushcclosure(L, pairs_step, 5);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

int rb_base_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (!rb_push_store(L, 1)) lua_pushvalue(L, 1);
  lua_pushnil(L); /* 4: the best key so far */
  if (!lua_isnil(L, 2)) check_key(L, 2);
  lua_pushnil(L);
  while (lua_next(L, 3)) {
    lua_pop(L, 1);
    check_key(L, -1);
    bool behind = lua_isnil(L, 2) || compare_keys(L, -1, 2) > 0;
    if (behind && (lua_isnil(L, 4) || compare_keys(L, -1, 4) < 0)) {
      lua_pushvalue(L, -1);
      lua_replace(L, 4);
    }
  }
  lua_settop(L, 4);
  if (lua_isnil(L, 4)) return 1;
  lua_pushvalue(L, 4);
  lua_gettable(L, 1);
  return 2;
}

/* A step of `ipairs`, as in Lua's own library; the elements of a frozen list are read from its store. */
static int ipairs_step(lua_State *L) {
  const rb_vm *vm = rb_vm_of(L);
  int given;
  lua_Integer index = lua_tointegerx(L, 2, &given);
  if (!given) luaL_checkinteger(L, 2);
  index = (lua_Integer)((lua_Unsigned)index + 1);
  if (lua_getmetatable(L, 1) && lua_rawgeti(L, -1, vm->proxies.store_key) == LUA_TTABLE) {
    lua_pushinteger(L, index);
    if (lua_rawgeti(L, -2, index) != LUA_TNIL) return 2;
    if (!lua_getmetatable(L, -3)) return 1;
    if (lua_topointer(L, -1) == vm->proxies.array) {
      lua_pushnil(L);
      return 1;
    }
  }
  lua_pushinteger(L, index);
  return lua_geti(L, 1, index) == LUA_TNIL ? 1 : 2;
}

int rb_base_ipairs(lua_State *L) {
  check_traversable(L, "ipairs");
  lua_pushcfunction(L, ipairs_step);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}
