/*
 * Boards: rules place the event's subject, queries read the ranks.
 */
#include <math.h>

#include "Operations/operations.h"

/* The greatest whole number up to which a score has all digits. */
static const lua_Integer WHOLE_SCORE = (lua_Integer)1 << 53;

/* Places ----------------------------------------------------------------------------------------------------------------------- */

/* Takes the options in the table at index. */
static void take_options(lua_State *L, const char *function, int index, rb_op *noted) {
  rb_push_options(L, index, function, "low", "keep");
  int keep = lua_gettop(L), low = keep - 1;
  if (!lua_isnil(L, low) && !lua_isboolean(L, low))
    rb_raise(L, RB_KIND_VALUE, "%s: low must be true or false, not a %s", function, luaL_typename(L, low));
  if (lua_toboolean(L, low)) noted->flags |= RB_OP_LOW;
  if (lua_isnil(L, keep)) return;
  if (lua_type(L, keep) != LUA_TSTRING)
    rb_raise(L, RB_KIND_VALUE, "%s: keep must be a duration such as \"30d\", not a %s", function, luaL_typename(L, keep));
  rb_call_host(L, RB_CALL_BOARD_KEEP, keep);
  noted->integer = lua_tointeger(L, -1);
  if (noted->integer <= 0)
    rb_raise(L, RB_KIND_VALUE, "%s: keep must be a duration such as \"30d\", not '%.64s'", function, lua_tostring(L, keep));
}

static int place(lua_State *L, const char *function, unsigned placing) {
  rb_vm *vm = rb_changing(L, function);
  bool leaves = placing == RB_OP_LEAVE;
  lua_settop(L, leaves ? 2 : 3);
  rb_op noted = {.flags = (uint8_t)placing};
  rb_slice name = rb_check_name(L, 1, "a board's name");
  if (!leaves) {
    if (lua_type(L, 2) != LUA_TNUMBER)
      return rb_raise(L, RB_KIND_VALUE, "%s: a score is a number, not a %s", function, luaL_typename(L, 2));
    lua_Integer whole = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 0;
    if (whole > WHOLE_SCORE || whole < -WHOLE_SCORE)
      return rb_raise(L, RB_KIND_VALUE, "%s: a whole number beyond 2^53 would lose digits as a score", function);
    noted.number = lua_tonumber(L, 2);
    if (!isfinite(noted.number)) return rb_raise(L, RB_KIND_VALUE, "%s: a score must be finite", function);
  }
  int options = leaves ? 2 : 3;
  if (!lua_isnil(L, options)) {
    take_options(L, function, options, &noted);
    noted.flags |= RB_OP_OPTIONS;
  }
  rb_add_text(vm, name, &noted.a, &noted.a_length);
  rb_add_op(vm, RB_OP_PLACE, noted);
  return 0;
}

static int board_set(lua_State *L) { return place(L, "board.set", RB_OP_SET); }
static int board_add(lua_State *L) { return place(L, "board.add", RB_OP_ADD); }
static int board_leave(lua_State *L) { return place(L, "board.leave", RB_OP_LEAVE); }

/* Queries ---------------------------------------------------------------------------------------------------------------------- */

/* The whole number at index, at least that. */
static void check_count(lua_State *L, int index, const char *function, const char *what, lua_Integer least) {
  int is_whole = 0;
  lua_Integer count = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_whole) : 0;
  if (!is_whole || count < least) {
    const char *given = lua_type(L, index) == LUA_TNUMBER ? luaL_tolstring(L, index, NULL) : luaL_typename(L, index);
    luaL_error(L, "%s: %s must be a whole number from %d on, not %s", function, what, (int)least, given);
  }
  lua_pushinteger(L, count);
  lua_replace(L, index);
}

static int board_top(lua_State *L) {
  rb_reading(L, "board.top");
  lua_settop(L, 3);
  rb_check_text(L, 1);
  check_count(L, 2, "board.top", "n", 0);
  if (lua_isnil(L, 3)) {
    lua_pushinteger(L, 1);
    lua_replace(L, 3);
  }
  check_count(L, 3, "board.top", "from", 1);
  return rb_call_host(L, RB_CALL_BOARD_TOP, 1);
}

static int board_around(lua_State *L) {
  rb_reading(L, "board.around");
  lua_settop(L, 3);
  rb_check_text(L, 1);
  rb_check_text(L, 2);
  check_count(L, 3, "board.around", "n", 0);
  return rb_call_host(L, RB_CALL_BOARD_AROUND, 1);
}

static int board_rank(lua_State *L) {
  rb_reading(L, "board.rank");
  lua_settop(L, 2);
  rb_check_text(L, 1);
  rb_check_text(L, 2);
  return rb_call_host(L, RB_CALL_BOARD_RANK, 1);
}

static int board_count(lua_State *L) {
  rb_reading(L, "board.count");
  lua_settop(L, 1);
  rb_check_text(L, 1);
  return rb_call_host(L, RB_CALL_BOARD_COUNT, 1);
}

void rb_open_boards(lua_State *L) {
  static const luaL_Reg functions[] = {{"set", board_set},       {"add", board_add},     {"leave", board_leave}, {"top", board_top},
                                       {"around", board_around}, {"rank", board_rank}, {"count", board_count}, {NULL, NULL}};
  rb_add_table(L, "board", functions, NULL);
}
