/* `table.sort`. */
#include "Functions/functions.h"

static bool comes_first(lua_State *L, int left, int right) {
  left = lua_absindex(L, left);
  right = lua_absindex(L, right);
  if (lua_isnoneornil(L, 2)) return lua_compare(L, left, right, LUA_OPLT);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, left);
  lua_pushvalue(L, right);
  lua_call(L, 2, 1);
  bool first = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return first;
}

/* A stable merge sort. Lua's own sort picks a pivot by the clock, which would change the order of equal elements. */
int rb_table_sort(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_Integer count = luaL_len(L, 1);
  if (count < 2) return 0;
  if (count >= INT32_MAX) return luaL_error(L, "array too big");
  lua_createtable(L, (int)(count < 65536 ? count : 0), 0);
  lua_createtable(L, (int)(count < 65536 ? count : 0), 0);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, 1, i);
    lua_rawseti(L, 3, i);
  }
  int from = 3, into = 4;
  for (lua_Integer width = 1; width < count; width *= 2) {
    for (lua_Integer start = 1; start <= count; start += 2 * width) {
      lua_Integer left = start, middle = start + width, right = middle, end = start + 2 * width;
      if (middle > count + 1) middle = count + 1;
      if (end > count + 1) end = count + 1;
      for (lua_Integer index = start; index < end; index++) {
        bool take_right = left >= middle;
        if (!take_right && right < end) {
          lua_rawgeti(L, from, left);
          lua_rawgeti(L, from, right);
          take_right = comes_first(L, -1, -2);
          lua_pop(L, 2);
        }
        lua_rawgeti(L, from, take_right ? right++ : left++);
        lua_rawseti(L, into, index);
      }
    }
    int swap = from;
    from = into;
    into = swap;
  }
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, from, i);
    lua_seti(L, 1, i);
  }
  return 0;
}
