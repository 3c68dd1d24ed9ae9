/*
 * The functions that return something to rules, and the table of all globals of the sandbox.
 *
 * The host answers through one callback, which never raises: it returns errors as results, and they are raised here, in C.
 */
#include <string.h>

#include "operations.h"

enum { MAX_ARGUMENTS = 6, MAX_RESULTS = 4, JSON_LIMIT = 1 << 20 };

/* Calls to the host ------------------------------------------------------------------------------------------------------------ */

void rb_push_value(lua_State *L, const rb_value *value) {
  switch (value->type) {
    case RB_BOOLEAN: lua_pushboolean(L, value->integer != 0); break;
    case RB_INTEGER: lua_pushinteger(L, value->integer); break;
    case RB_NUMBER: lua_pushnumber(L, value->number); break;
    case RB_STRING: lua_pushlstring(L, value->text.bytes ? value->text.bytes : "", value->text.length); break;
    case RB_JSON:
    case RB_JSON_FROZEN:
      if (!rb_push_text(L, value->text.bytes, value->text.length, value->type == RB_JSON_FROZEN)) lua_error(L);
      break;
    default: lua_pushnil(L); break;
  }
}

static void take_argument(lua_State *L, int index, rb_value *value) {
  switch (lua_type(L, index)) {
    case LUA_TNIL: value->type = RB_NIL; break;
    case LUA_TBOOLEAN:
      value->type = RB_BOOLEAN;
      value->integer = lua_toboolean(L, index);
      break;
    case LUA_TNUMBER:
      value->type = lua_isinteger(L, index) ? RB_INTEGER : RB_NUMBER;
      if (value->type == RB_INTEGER) value->integer = lua_tointeger(L, index);
      value->number = lua_tonumber(L, index);
      break;
    case LUA_TSTRING:
      value->type = RB_STRING;
      value->text.bytes = lua_tolstring(L, index, &value->text.length);
      break;
    default: luaL_argerror(L, index, lua_pushfstring(L, "a %s is not taken here", luaL_typename(L, index))); break;
  }
}

int rb_ask_host(lua_State *L, rb_call call, const rb_value *arguments, int count) {
  rb_vm *vm = rb_vm_of(L);
  rb_value results[MAX_RESULTS] = {0};
  if (!vm->host.call) return luaL_error(L, "not offered here");
  for (int i = 0; i < count; i++) rb_charge(L, arguments[i].text.length);
  rb_enter_host(vm);
  int answered = vm->host.call(vm->context, call, arguments, count, results);
  rb_exit_host(vm);
  if (answered < 0)
    return rb_raise(L, (rb_kind)results[0].integer, "%.*s", (int)results[0].text.length, results[0].text.bytes ? results[0].text.bytes : "");
  luaL_checkstack(L, MAX_RESULTS, NULL);
  for (int i = 0; i < answered; i++) {
    rb_charge(L, results[i].text.length);
    rb_push_value(L, &results[i]);
  }
  return answered;
}

int rb_call_host(lua_State *L, rb_call call, int first) {
  rb_value arguments[MAX_ARGUMENTS] = {0};
  int count = lua_gettop(L) - first + 1;
  if (count < 0) count = 0;
  if (count > MAX_ARGUMENTS) count = MAX_ARGUMENTS;
  for (int i = 0; i < count; i++) take_argument(L, first + i, &arguments[i]);
  return rb_ask_host(L, call, arguments, count);
}

/* A function that only calls the host. Upvalue: the rb_call. */
static int host_ask(lua_State *L) { return rb_call_host(L, (rb_call)lua_tointeger(L, lua_upvalueindex(1)), 1); }

static int host_ask_evaluating(lua_State *L) {
  rb_evaluating(L, lua_tostring(L, lua_upvalueindex(2)));
  return host_ask(L);
}

static int host_counters(lua_State *L) {
  rb_vm *vm = rb_evaluating(L, "counters");
  if (vm->phase != RB_PHASE_READ) return luaL_error(L, "counters can be read only by a query");
  lua_settop(L, 1);
  return rb_call_host(L, RB_CALL_COUNTERS, 1);
}

static int host_data(lua_State *L) {
  rb_slice name = rb_check_text(L, 1);
  lua_settop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA_FILES);
  lua_pushlstring(L, name.bytes, name.length);
  if (lua_rawget(L, 2) != LUA_TNIL) return 1;
  lua_settop(L, 1);
  return rb_call_host(L, RB_CALL_DATA, 1);
}

/* JSON and arrays -------------------------------------------------------------------------------------------------------------- */

static int json_encode(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  luaL_checkany(L, 1);
  rb_buffer *into = &vm->result;
  into->length = 0;
  rb_encode(L, 1, into, RB_KIND_ERROR, "value");
  rb_charge(L, into->length);
  lua_pushlstring(L, into->bytes, into->length);
  return 1;
}

static int json_decode(lua_State *L) {
  rb_slice text = rb_check_text(L, 1);
  if (text.length > JSON_LIMIT) {
    lua_pushnil(L);
    lua_pushliteral(L, "the text is larger than 1 MiB");
    return 2;
  }
  rb_charge(L, text.length);
  if (rb_push_text(L, text.bytes, text.length, false)) return 1;
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

static int host_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  if (rb_is_frozen(L, 1) || rb_is_array(L, 1)) return 1;
  if (lua_getmetatable(L, 1)) return luaL_error(L, "array takes a table without a metatable");
  rb_mark_array(L, 1);
  return 1;
}

/* Assembly --------------------------------------------------------------------------------------------------------------------- */

static void set(lua_State *L, const char *name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  lua_setfield(L, -2, name);
}

static void set_ask(lua_State *L, const char *name, rb_call call) {
  lua_pushinteger(L, call);
  lua_pushcclosure(L, host_ask, 1);
  lua_setfield(L, -2, name);
}

static void set_calendar(lua_State *L, const char *name, rb_call call) {
  lua_pushinteger(L, call);
  lua_pushcclosure(L, rb_host_calendar, 1);
  lua_setfield(L, -2, name);
}

static void set_ask_evaluating(lua_State *L, const char *name, rb_call call) {
  lua_pushinteger(L, call);
  lua_pushstring(L, name);
  lua_pushcclosure(L, host_ask_evaluating, 2);
  lua_setfield(L, -2, name);
}

static void set_log(lua_State *L, const char *name, int level) {
  lua_pushinteger(L, level);
  lua_pushcclosure(L, rb_host_log, 1);
  lua_setfield(L, -2, name);
}

static void close_table(lua_State *L, const char *name) {
  rb_push_frozen(L);
  lua_setfield(L, -2, name);
}

void rb_open_host(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  static const luaL_Reg plain[] = {{"decide", rb_host_decide}, {"emit", rb_host_emit},   {"raise", rb_host_raise},       {"send", rb_host_send},
                                   {"once", rb_host_once},     {"count", rb_host_count}, {"forget", rb_host_forget},     {"now", rb_host_now},
                                   {"data", host_data},     {"array", host_array}, {"counters", host_counters}, {"pick", rb_host_pick},
                                   {NULL, NULL}};
  luaL_setfuncs(L, plain, 0);
  set_ask_evaluating(L, "peek", RB_CALL_PEEK);
  set_ask_evaluating(L, "uuid", RB_CALL_UUID);
  set_ask(L, "bucket", RB_CALL_BUCKET);

  lua_newtable(L);
  set(L, "set", rb_host_timer_set);
  set(L, "every", rb_host_timer_every);
  set(L, "cancel", rb_host_timer_cancel);
  set(L, "due", rb_host_timer_due);
  close_table(L, "timer");

  lua_newtable(L);
  set(L, "set", rb_host_board_set);
  set(L, "add", rb_host_board_add);
  set(L, "leave", rb_host_board_leave);
  set(L, "top", rb_host_board_top);
  set(L, "rank", rb_host_board_rank);
  set(L, "around", rb_host_board_around);
  set(L, "count", rb_host_board_count);
  close_table(L, "board");

  lua_newtable(L);
  set_calendar(L, "day", RB_CALL_CALENDAR_DAY);
  set_calendar(L, "date", RB_CALL_CALENDAR_DATE);
  set_ask(L, "start", RB_CALL_CALENDAR_START);
  set_calendar(L, "hour", RB_CALL_CALENDAR_HOUR);
  set_calendar(L, "weekday", RB_CALL_CALENDAR_WEEKDAY);
  set_ask(L, "month", RB_CALL_CALENDAR_MONTH);
  set_ask(L, "week", RB_CALL_CALENDAR_WEEK);
  set_ask(L, "at", RB_CALL_CALENDAR_AT);
  set(L, "add", rb_host_calendar_add);
  set(L, "known", rb_host_calendar_known);
  set(L, "workday", rb_host_calendar_workday);
  set_ask(L, "parse", RB_CALL_CALENDAR_PARSE);
  set_ask(L, "format", RB_CALL_CALENDAR_FORMAT);
  close_table(L, "calendar");

  lua_newtable(L);
  set(L, "parse", rb_host_url_parse);
  set(L, "encode", rb_host_url_encode);
  close_table(L, "url");

  lua_newtable(L);
  set(L, "lower", rb_host_text_lower);
  set(L, "upper", rb_host_text_upper);
  set(L, "fold", rb_host_text_fold);
  set(L, "trim", rb_host_text_trim);
  set(L, "find_re", rb_host_text_find_re);
  close_table(L, "text");

  lua_newtable(L);
  set_ask(L, "sha256", RB_CALL_SHA256);
  set_ask(L, "hmac_sha256", RB_CALL_HMAC_SHA256);
  close_table(L, "hash");

  lua_newtable(L);
  set(L, "encode", rb_host_base64_encode);
  set(L, "decode", rb_host_base64_decode);
  close_table(L, "base64");

  lua_newtable(L);
  set(L, "encode", rb_host_hex_encode);
  set(L, "decode", rb_host_hex_decode);
  close_table(L, "hex");

  lua_newtable(L);
  set(L, "compare", rb_host_semver_compare);
  close_table(L, "semver");

  lua_newtable(L);
  set(L, "within", rb_host_ip_within);
  close_table(L, "ip");

  lua_newtable(L);
  set_ask(L, "distance", RB_CALL_GEO_DISTANCE);
  close_table(L, "geo");

  lua_newtable(L);
  set(L, "encode", json_encode);
  set(L, "decode", json_decode);
  lua_pushlightuserdata(L, (void *)&rb_null);
  lua_setfield(L, -2, "null");
  close_table(L, "json");

  lua_newtable(L);
  set_log(L, "debug", 0);
  set_log(L, "info", 1);
  set_log(L, "warn", 2);
  set_log(L, "error", 3);
  close_table(L, "log");
  lua_pop(L, 1);
}
