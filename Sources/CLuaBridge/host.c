/*
 * The functions that rules call.
 *
 * What a rule decides, emits or sends is encoded at once and noted as an operation; nothing happens until the engine commits. What needs
 * an answer goes to the host through one callback, which never raises: an error comes back as a result and is raised here, in C.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"

enum { NAME_LIMIT = 256, RAISE_DEPTH = 32, MAX_ARGUMENTS = 6, MAX_RESULTS = 4, JSON_LIMIT = 1 << 20 };

/* Phases ----------------------------------------------------------------------------------------------------------------------- */

static rb_vm *changing(lua_State *L, const char *name) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->phase == RB_PHASE_READ) luaL_error(L, "%s changes something, which a query or handler can't", name);
  if (vm->phase != RB_PHASE_EVENT) luaL_error(L, "%s works only while an event is handled", name);
  return vm;
}

static rb_vm *evaluating(lua_State *L, const char *name) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->phase != RB_PHASE_EVENT && vm->phase != RB_PHASE_READ) luaL_error(L, "%s works only while an event or a query is handled", name);
  return vm;
}

/* Arguments -------------------------------------------------------------------------------------------------------------------- */

static rb_slice check_text(lua_State *L, int index) {
  rb_slice text;
  luaL_checktype(L, index, LUA_TSTRING);
  text.bytes = lua_tolstring(L, index, &text.length);
  return text;
}

/* A type, subject, sink or key: 1 to 256 bytes without control characters. */
static rb_slice check_name(lua_State *L, int index, const char *what) {
  if (lua_type(L, index) != LUA_TSTRING) rb_raise(L, RB_KIND_VALUE, "%s must be a string, not a %s", what, luaL_typename(L, index));
  rb_slice text = check_text(L, index);
  if (text.length == 0) rb_raise(L, RB_KIND_VALUE, "%s is empty", what);
  if (text.length > NAME_LIMIT) rb_raise(L, RB_KIND_VALUE, "%s is longer than 256 bytes", what);
  for (size_t i = 0; i < text.length; i++) {
    unsigned char byte = (unsigned char)text.bytes[i];
    if (byte < 0x20 || byte == 0x7f || (byte == 0xC2 && i + 1 < text.length && (unsigned char)text.bytes[i + 1] < 0xA0))
      rb_raise(L, RB_KIND_VALUE, "%s has a control character", what);
  }
  return text;
}

static void copy_to(rb_vm *vm, rb_slice text, uint32_t *at, uint32_t *length) {
  *at = rb_op_copy(vm, text.bytes, text.length);
  *length = (uint32_t)text.length;
}

/* Encodes the value at index behind the operations' bytes; nil and nothing become `absent`. */
static void encode_to(lua_State *L, int index, const char *root, const char *absent, uint32_t *at, uint32_t *length) {
  rb_vm *vm = rb_vm_of(L);
  *at = (uint32_t)vm->op_bytes.length;
  if (lua_isnoneornil(L, index)) {
    rb_append(vm, &vm->op_bytes, absent, strlen(absent));
  } else {
    rb_encode(L, index, &vm->op_bytes, RB_KIND_VALUE, root);
  }
  *length = (uint32_t)(vm->op_bytes.length - *at);
}

/* Operations ------------------------------------------------------------------------------------------------------------------- */

static int host_decide(lua_State *L) {
  rb_vm *vm = changing(L, "decide");
  rb_slice key = check_name(L, 1, "a decision's key");
  luaL_checkany(L, 2);
  rb_op noted = {0};
  for (size_t i = 0; i < vm->op_count; i++) {
    const rb_op *op = &vm->ops[i];
    if (op->kind == RB_OP_DECIDE && op->a_length == key.length && memcmp(vm->op_bytes.bytes + op->a, key.bytes, key.length) == 0) {
      uint16_t winner = op->rule;
      copy_to(vm, key, &noted.a, &noted.a_length);
      rb_op *shadowed = rb_add_op(vm, RB_OP_SHADOWED);
      shadowed->a = noted.a;
      shadowed->a_length = noted.a_length;
      shadowed->integer = winner;
      return 0;
    }
  }
  copy_to(vm, key, &noted.a, &noted.a_length);
  vm->decision = key;
  encode_to(L, 2, rb_decision_root, "null", &noted.b, &noted.b_length);
  rb_op *op = rb_add_op(vm, RB_OP_DECIDE);
  op->a = noted.a;
  op->a_length = noted.a_length;
  op->b = noted.b;
  op->b_length = noted.b_length;
  return 0;
}

static int host_emit(lua_State *L) {
  rb_vm *vm = changing(L, "emit");
  lua_settop(L, 4);
  rb_op noted = {0};
  rb_slice sink = check_name(L, 1, "a sink's name");
  rb_slice type = check_name(L, 2, "an effect's type");
  copy_to(vm, sink, &noted.a, &noted.a_length);
  copy_to(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 3, "effect's data", "{}", &noted.c, &noted.c_length);
  bool has_id = false;
  if (!lua_isnoneornil(L, 4)) {
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_getfield(L, 4, "id");
    lua_getfield(L, 4, "key");
    has_id = !lua_isnil(L, 5);
    noted.flags = !lua_isnil(L, 6);
  } else {
    lua_settop(L, 6);
  }
  if (has_id) check_name(L, 5, "an effect's id");
  if (noted.flags) check_name(L, 6, "an effect's key");
  /* The host checks the sink and makes the id; with an id given it only checks. */
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 6);
  rb_call_host(L, RB_CALL_EFFECT_ID, 7);
  int id = has_id ? 5 : lua_gettop(L);
  copy_to(vm, check_text(L, id), &noted.d, &noted.d_length);
  rb_op *op = rb_add_op(vm, RB_OP_EMIT);
  noted.kind = op->kind;
  noted.rule = op->rule;
  *op = noted;
  lua_pushvalue(L, id);
  return 1;
}

static int host_raise(lua_State *L) {
  rb_vm *vm = changing(L, "raise");
  rb_slice type = check_name(L, 1, "an event's type");
  if (vm->depth + 1 > RAISE_DEPTH)
    return rb_raise(L, RB_KIND_CYCLE, "raised deeper than 32 events: %.*s > %.*s", (int)(vm->chain.length < 700 ? vm->chain.length : 700),
                    vm->chain.bytes, (int)type.length, type.bytes);
  rb_op noted = {0};
  copy_to(vm, type, &noted.a, &noted.a_length);
  encode_to(L, 2, "event's data", "{}", &noted.b, &noted.b_length);
  rb_slice chain = {vm->chain.bytes, vm->chain.length};
  copy_to(vm, chain, &noted.c, &noted.c_length);
  noted.integer = vm->depth + 1;
  rb_op *op = rb_add_op(vm, RB_OP_RAISE);
  noted.kind = op->kind;
  noted.rule = op->rule;
  *op = noted;
  return 0;
}

static int host_send(lua_State *L) {
  rb_vm *vm = changing(L, "send");
  rb_op noted = {0};
  rb_slice subject = check_name(L, 1, "a subject");
  rb_slice type = check_name(L, 2, "an event's type");
  copy_to(vm, subject, &noted.a, &noted.a_length);
  copy_to(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 3, "message's data", "{}", &noted.c, &noted.c_length);
  rb_op *op = rb_add_op(vm, RB_OP_SEND);
  noted.kind = op->kind;
  noted.rule = op->rule;
  *op = noted;
  return 0;
}

static int host_once(lua_State *L) {
  rb_vm *vm = changing(L, "once");
  lua_settop(L, 2);
  rb_slice key = check_name(L, 1, "a once key");
  lua_Number seconds = luaL_optnumber(L, 2, 0);
  bool expires = !lua_isnil(L, 2);
  if (expires && !(seconds > 0 && seconds < 1e12)) return rb_raise(L, RB_KIND_VALUE, "once must expire after a positive number of seconds");
  int results = rb_call_host(L, RB_CALL_ONCE, 1);
  if (results != 1 || !lua_toboolean(L, -1)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  rb_op noted = {0};
  copy_to(vm, key, &noted.a, &noted.a_length);
  rb_op *op = rb_add_op(vm, RB_OP_ONCE);
  op->a = noted.a;
  op->a_length = noted.a_length;
  op->flags = expires;
  op->number = seconds;
  lua_pushboolean(L, 1);
  return 1;
}

static int host_count(lua_State *L) {
  rb_vm *vm = changing(L, "count");
  lua_settop(L, 3);
  rb_op noted = {0};
  rb_slice name = check_name(L, 1, "a counter's name");
  copy_to(vm, name, &noted.a, &noted.a_length);
  if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
  encode_to(L, 2, "labels", "{}", &noted.b, &noted.b_length);
  noted.integer = 1;
  if (lua_type(L, 3) == LUA_TNUMBER) {
    if (lua_isinteger(L, 3)) {
      noted.integer = lua_tointeger(L, 3);
    } else {
      noted.flags = 1;
      noted.number = lua_tonumber(L, 3);
      if (!isfinite(noted.number)) return rb_raise(L, RB_KIND_VALUE, "a counter can't count what is not finite");
    }
  } else if (!lua_isnil(L, 3)) {
    return rb_raise(L, RB_KIND_VALUE, "a counter counts numbers, not a %s", luaL_typename(L, 3));
  }
  rb_op *op = rb_add_op(vm, RB_OP_COUNT);
  noted.kind = op->kind;
  noted.rule = op->rule;
  *op = noted;
  return 0;
}

static int host_timer_set(lua_State *L) {
  rb_vm *vm = changing(L, "timer.set");
  rb_op noted = {0};
  rb_slice name = check_name(L, 1, "a timer's name");
  if (lua_type(L, 2) != LUA_TNUMBER) return rb_raise(L, RB_KIND_VALUE, "a timer is due at epoch seconds, not at a %s", luaL_typename(L, 2));
  lua_Number when = lua_tonumber(L, 2);
  if (!(when > -1e11 && when < 1e12)) return rb_raise(L, RB_KIND_VALUE, "a timer can't be due at %.14g", when);
  rb_slice type = check_name(L, 3, "an event's type");
  copy_to(vm, name, &noted.a, &noted.a_length);
  copy_to(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 4, "timer's data", "{}", &noted.c, &noted.c_length);
  rb_op *op = rb_add_op(vm, RB_OP_TIMER_SET);
  noted.kind = op->kind;
  noted.rule = op->rule;
  noted.number = when;
  *op = noted;
  return 0;
}

static int host_timer_cancel(lua_State *L) {
  rb_vm *vm = changing(L, "timer.cancel");
  rb_op noted = {0};
  copy_to(vm, check_name(L, 1, "a timer's name"), &noted.a, &noted.a_length);
  rb_op *op = rb_add_op(vm, RB_OP_TIMER_CANCEL);
  op->a = noted.a;
  op->a_length = noted.a_length;
  return 0;
}

static int host_forget(lua_State *L) {
  rb_vm *vm = changing(L, "forget");
  rb_add_op(vm, RB_OP_FORGET);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
  if (rb_push_store(L, -1)) lua_remove(L, -2);
  if (!lua_istable(L, -1)) return 0;
  int state = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, state)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, state);
  }
  return 0;
}

static int host_now(lua_State *L) {
  lua_pushnumber(L, evaluating(L, "now")->now);
  return 1;
}

static int host_log(lua_State *L) {
  rb_vm *vm = evaluating(L, "log");
  lua_Integer level = lua_tointeger(L, lua_upvalueindex(1));
  lua_settop(L, 2);
  lua_pushcfunction(L, lua_tocfunction(L, lua_upvalueindex(2)));
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  rb_op noted = {0};
  rb_slice message = check_text(L, 3);
  if (message.length > 4096) message.length = 4096;
  copy_to(vm, message, &noted.a, &noted.a_length);
  encode_to(L, 2, "log fields", "", &noted.b, &noted.b_length);
  rb_op *op = rb_add_op(vm, RB_OP_LOG);
  noted.kind = op->kind;
  noted.rule = op->rule;
  noted.integer = level;
  *op = noted;
  return 0;
}

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

int rb_call_host(lua_State *L, rb_call call, int first) {
  rb_vm *vm = rb_vm_of(L);
  rb_value arguments[MAX_ARGUMENTS] = {0}, results[MAX_RESULTS] = {0};
  int count = lua_gettop(L) - first + 1;
  if (count < 0) count = 0;
  if (count > MAX_ARGUMENTS) count = MAX_ARGUMENTS;
  for (int i = 0; i < count; i++) take_argument(L, first + i, &arguments[i]);
  if (!vm->host.call) return luaL_error(L, "not offered here");
  rb_enter_host(vm);
  int answered = vm->host.call(vm->context, call, arguments, count, results);
  rb_exit_host(vm);
  if (answered < 0)
    return rb_raise(L, (rb_kind)results[0].integer, "%.*s", (int)results[0].text.length, results[0].text.bytes ? results[0].text.bytes : "");
  luaL_checkstack(L, MAX_RESULTS, NULL);
  for (int i = 0; i < answered; i++) rb_push_value(L, &results[i]);
  return answered;
}

/* A function that only asks the host; upvalue: which call. */
static int host_ask(lua_State *L) { return rb_call_host(L, (rb_call)lua_tointeger(L, lua_upvalueindex(1)), 1); }

static int host_ask_evaluating(lua_State *L) {
  evaluating(L, lua_tostring(L, lua_upvalueindex(2)));
  return host_ask(L);
}

static int host_counters(lua_State *L) {
  rb_vm *vm = evaluating(L, "counters");
  if (vm->phase != RB_PHASE_READ) return luaL_error(L, "counters can be read only by a query");
  lua_settop(L, 1);
  return rb_call_host(L, RB_CALL_COUNTERS, 1);
}

static int host_data(lua_State *L) {
  rb_slice name = check_text(L, 1);
  lua_settop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA_FILES);
  lua_pushlstring(L, name.bytes, name.length);
  if (lua_rawget(L, 2) != LUA_TNIL) return 1;
  lua_settop(L, 1);
  rb_call_host(L, RB_CALL_DATA, 1);
  lua_settop(L, 2);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA_FILES);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_rawset(L, 3);
  lua_settop(L, 2);
  return 1;
}

/* JSON and arrays -------------------------------------------------------------------------------------------------------------- */

static int json_encode(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  luaL_checkany(L, 1);
  rb_buffer *into = &vm->result;
  into->length = 0;
  rb_encode(L, 1, into, RB_KIND_ERROR, "value");
  lua_pushlstring(L, into->bytes, into->length);
  return 1;
}

static int json_decode(lua_State *L) {
  rb_slice text = check_text(L, 1);
  if (text.length > JSON_LIMIT) {
    lua_pushnil(L);
    lua_pushliteral(L, "the text is larger than 1 MiB");
    return 2;
  }
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

static void set_ask_evaluating(lua_State *L, const char *name, rb_call call) {
  lua_pushinteger(L, call);
  lua_pushstring(L, name);
  lua_pushcclosure(L, host_ask_evaluating, 2);
  lua_setfield(L, -2, name);
}

static void set_log(lua_State *L, const char *name, int level, lua_CFunction display) {
  lua_pushinteger(L, level);
  lua_pushcfunction(L, display);
  lua_pushcclosure(L, host_log, 2);
  lua_setfield(L, -2, name);
}

static void close_table(lua_State *L, const char *name) {
  rb_push_frozen(L);
  lua_setfield(L, -2, name);
}

void rb_open_host(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  static const luaL_Reg plain[] = {{"decide", host_decide}, {"emit", host_emit},   {"raise", host_raise},       {"send", host_send},
                                   {"once", host_once},     {"count", host_count}, {"forget", host_forget},     {"now", host_now},
                                   {"data", host_data},     {"array", host_array}, {"counters", host_counters}, {NULL, NULL}};
  luaL_setfuncs(L, plain, 0);
  set_ask_evaluating(L, "peek", RB_CALL_PEEK);
  set_ask_evaluating(L, "uuid", RB_CALL_UUID);

  lua_newtable(L);
  set(L, "set", host_timer_set);
  set(L, "cancel", host_timer_cancel);
  set_ask_evaluating(L, "due", RB_CALL_TIMER_DUE);
  close_table(L, "timer");

  lua_newtable(L);
  set_ask(L, "day", RB_CALL_CALENDAR_DAY);
  set_ask(L, "date", RB_CALL_CALENDAR_DATE);
  set_ask(L, "start", RB_CALL_CALENDAR_START);
  set_ask(L, "hour", RB_CALL_CALENDAR_HOUR);
  set_ask(L, "weekday", RB_CALL_CALENDAR_WEEKDAY);
  set_ask(L, "parse", RB_CALL_CALENDAR_PARSE);
  set_ask(L, "format", RB_CALL_CALENDAR_FORMAT);
  close_table(L, "calendar");

  lua_newtable(L);
  set_ask(L, "parse", RB_CALL_URL_PARSE);
  close_table(L, "url");

  lua_newtable(L);
  set_ask(L, "lower", RB_CALL_TEXT_LOWER);
  set_ask(L, "trim", RB_CALL_TEXT_TRIM);
  close_table(L, "text");

  lua_newtable(L);
  set_ask(L, "sha256", RB_CALL_SHA256);
  close_table(L, "hash");

  lua_newtable(L);
  set_ask(L, "distance", RB_CALL_GEO_DISTANCE);
  close_table(L, "geo");

  lua_newtable(L);
  set(L, "encode", json_encode);
  set(L, "decode", json_decode);
  lua_pushlightuserdata(L, (void *)&rb_null);
  lua_setfield(L, -2, "null");
  close_table(L, "json");

  lua_getfield(L, -1, "tostring");
  lua_CFunction display = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  lua_newtable(L);
  set_log(L, "debug", 0, display);
  set_log(L, "info", 1, display);
  set_log(L, "warn", 2, display);
  set_log(L, "error", 3, display);
  close_table(L, "log");
  lua_pop(L, 1);
}
