/* `pick`: one of several keys, by weights. */
#include <math.h>

#include "Functions/functions.h"

/* Pushes the next key and value of the loop whose function, table and last key are at `loop`; false, and pushes nothing, after the last one. */
static bool push_next(lua_State *L, int loop) {
  lua_pushvalue(L, loop);
  lua_pushvalue(L, loop + 1);
  lua_pushvalue(L, loop + 2);
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) {
    lua_pop(L, 2);
    return false;
  }
  lua_pushvalue(L, -2);
  lua_replace(L, loop + 2);
  return true;
}

/* Begins a loop over the table at index 1 in the order of its keys; returns where it stands. */
static int push_loop(lua_State *L) {
  lua_pushcfunction(L, rb_base_pairs);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 3);
  return lua_gettop(L) - 2;
}

/* The weight on top, below which its key is. */
static lua_Number checked_weight(lua_State *L) {
  if (lua_type(L, -2) != LUA_TSTRING) return luaL_error(L, "pick's weights must have names, and one is under a %s", luaL_typename(L, -2));
  lua_Number weight = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (!(weight >= 0) || isinf(weight)) return luaL_error(L, "pick's weight of '%s' must be a number from 0 on", lua_tostring(L, -2));
  return weight;
}

static int pick(lua_State *L) {
  if (lua_type(L, 1) != LUA_TTABLE) return luaL_error(L, "pick's weights must be a table");
  lua_Number place = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : -1;
  if (!(place >= 0 && place < 1)) return luaL_error(L, "pick's bucket must be a number from 0 to less than 1, as bucket() gives it");
  lua_settop(L, 2);
  lua_Number sum = 0, below = 0;
  for (int loop = push_loop(L); push_next(L, loop); lua_pop(L, 2)) sum += checked_weight(L);
  if (!(sum > 0)) return luaL_error(L, "pick's weights must have a sum above 0");
  if (isinf(sum)) return luaL_error(L, "pick's weights must have a finite sum");
  lua_settop(L, 2);
  lua_pushnil(L);
  for (int loop = push_loop(L); push_next(L, loop); lua_pop(L, 2)) {
    lua_Number weight = checked_weight(L);
    if (weight == 0) continue;
    /* The last key counts where rounding leaves the place above all. */
    lua_pushvalue(L, -2);
    lua_replace(L, 3);
    below += weight;
    if (place * sum < below) break;
  }
  lua_pushvalue(L, 3);
  return 1;
}

void rb_open_pick(lua_State *L) {
  lua_pushcfunction(L, pick);
  lua_setfield(L, -2, "pick");
}
