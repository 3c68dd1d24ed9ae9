/*
 * Calls to the host, and the functions that do little more.
 *
 * The host answers through one callback, which never raises: it returns errors as results, and they are raised here, in C.
 */
#include "vm.h"

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
      value->text = rb_text_at(L, index);
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

rb_slice rb_check_text(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TSTRING);
  return rb_text_at(L, index);
}

rb_slice rb_charged_text(lua_State *L, const char *function) {
  if (lua_type(L, 1) != LUA_TSTRING) luaL_error(L, "%s's argument must be a string", function);
  rb_slice text = rb_text_at(L, 1);
  rb_charge(L, text.length);
  return text;
}

rb_vm *rb_evaluating(lua_State *L, const char *name) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->phase == RB_PHASE_STEP) {
    if (strcmp(name, "now") == 0 || strcmp(name, "log") == 0) return vm;
    luaL_error(L, "%s can't be called in a step of a migration, which gets the state alone", name);
  }
  if (vm->phase != RB_PHASE_EVENT && vm->phase != RB_PHASE_READ && vm->phase != RB_PHASE_HANDLER)
    luaL_error(L, "%s works only while an event or a query is handled", name);
  return vm;
}

rb_vm *rb_reading(lua_State *L, const char *name) {
  rb_vm *vm = rb_evaluating(L, name);
  if (vm->phase != RB_PHASE_READ) luaL_error(L, "%s can be read only by a query", name);
  return vm;
}

/* A function that only calls the host. Upvalue: the rb_call. */
static int host_ask(lua_State *L) { return rb_call_host(L, (rb_call)lua_tointeger(L, lua_upvalueindex(1)), 1); }

static int host_ask_evaluating(lua_State *L) {
  rb_evaluating(L, lua_tostring(L, lua_upvalueindex(2)));
  return host_ask(L);
}

static int host_counters(lua_State *L) {
  rb_reading(L, "counters");
  lua_settop(L, 2);
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
  luaL_checkany(L, 1);
  rb_slice text = rb_encode_result(L, 1, RB_KIND_ERROR, "value");
  rb_charge(L, text.length);
  lua_pushlstring(L, text.bytes, text.length);
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
  int table = rb_push_store(L, 1) ? 2 : 1;
  if (!rb_is_frozen(L, 1) && !rb_is_array(L, table)) {
    if (lua_getmetatable(L, table)) return luaL_error(L, "array takes a table without a metatable");
    rb_mark_array(L, table);
  }
  lua_settop(L, 1);
  return 1;
}

/* Assembly --------------------------------------------------------------------------------------------------------------------- */

static void set_closures(lua_State *L, const rb_closure *closures) {
  for (; closures->name; closures++) {
    lua_pushinteger(L, closures->upvalue);
    lua_pushcclosure(L, closures->function ? closures->function : host_ask, 1);
    lua_setfield(L, -2, closures->name);
  }
}

static void close_table(lua_State *L, const char *name) {
  rb_push_frozen(L);
  lua_setfield(L, -2, name);
}

void rb_add_table(lua_State *L, const char *name, const luaL_Reg *plain, const rb_closure *closures) {
  lua_newtable(L);
  if (plain) luaL_setfuncs(L, plain, 0);
  if (closures) set_closures(L, closures);
  close_table(L, name);
}

static void set_ask_evaluating(lua_State *L, const char *name, rb_call call) {
  lua_pushinteger(L, call);
  lua_pushstring(L, name);
  lua_pushcclosure(L, host_ask_evaluating, 2);
  lua_setfield(L, -2, name);
}

void rb_open_host(lua_State *L) {
  static const luaL_Reg plain[] = {{"data", host_data}, {"array", host_array}, {"counters", host_counters}, {NULL, NULL}};
  static const luaL_Reg json[] = {{"encode", json_encode}, {"decode", json_decode}, {NULL, NULL}};
  static const rb_closure asks[] = {{"bucket", NULL, RB_CALL_BUCKET}, {0}};
  static const rb_closure hash[] = {{"sha256", NULL, RB_CALL_SHA256}, {"hmac_sha256", NULL, RB_CALL_HMAC_SHA256}, {0}};
  static const rb_closure geo[] = {{"distance", NULL, RB_CALL_GEO_DISTANCE}, {0}};
  luaL_setfuncs(L, plain, 0);
  set_closures(L, asks);
  set_ask_evaluating(L, "peek", RB_CALL_PEEK);
  set_ask_evaluating(L, "uuid", RB_CALL_UUID);
  rb_add_table(L, "hash", NULL, hash);
  rb_add_table(L, "geo", NULL, geo);
  lua_newtable(L);
  luaL_setfuncs(L, json, 0);
  lua_pushlightuserdata(L, (void *)&rb_null);
  lua_setfield(L, -2, "null");
  close_table(L, "json");
}
