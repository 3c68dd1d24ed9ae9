/*
 * Each decision, effect or message of a rule is encoded at once and recorded as an operation. The engine executes it with the
 * commit.
 */
#include <math.h>

#include "vm.h"

/* TIMER_SECONDS: ten years. */
enum { NAME_LIMIT = 256, RAISE_DEPTH = 32, TIMER_SECONDS = 3653 * 86400 };
/* 100 years. */
static const lua_Number KEEP_SECONDS = 36525.0 * 86400;

/* Phases ----------------------------------------------------------------------------------------------------------------------- */

/* Fails the rule if the event has as many operations as it may. */
static void require_room(lua_State *L, const rb_vm *vm) {
  if (vm->operations.count - vm->operations.reads >= vm->limits.operations)
    rb_raise(L, RB_KIND_VALUE,
             "more than %zu operations in one event: decide, emit, raise, send, once, count, board, timer, forget and log together; "
             "do less at once, or go on in a message to the same subject",
             vm->limits.operations);
}

rb_vm *rb_changing(lua_State *L, const char *name) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->phase == RB_PHASE_STEP) luaL_error(L, "%s changes something, which a step of a migration can't", name);
  if (vm->phase == RB_PHASE_READ || vm->phase == RB_PHASE_HANDLER)
    luaL_error(L, "%s changes something, which a query or handler can't", name);
  if (vm->phase != RB_PHASE_EVENT) luaL_error(L, "%s works only while an event is handled", name);
  require_room(L, vm);
  return vm;
}

/* Arguments -------------------------------------------------------------------------------------------------------------------- */

rb_slice rb_check_name(lua_State *L, int index, const char *what) {
  if (lua_type(L, index) != LUA_TSTRING) rb_raise(L, RB_KIND_VALUE, "%s must be a string, not %s", what, luaL_typename(L, index));
  rb_slice text = rb_text_at(L, index);
  if (text.length == 0) rb_raise(L, RB_KIND_VALUE, "%s is empty", what);
  if (text.length > NAME_LIMIT) rb_raise(L, RB_KIND_VALUE, "%s is longer than 256 bytes", what);
  if (rb_is_plain(text.bytes, text.length)) return text;
  for (size_t i = 0; i < text.length; i++) {
    unsigned char byte = (unsigned char)text.bytes[i];
    if (byte < 0x20 || byte == 0x7f || (byte == 0xC2 && i + 1 < text.length && (unsigned char)text.bytes[i + 1] < 0xA0))
      rb_raise(L, RB_KIND_VALUE, "%s has a control character", what);
  }
  if (!rb_is_utf8(text.bytes, text.length)) rb_raise(L, RB_KIND_VALUE, "%s is not UTF-8", what);
  return text;
}

/* Appends the JSON of the value at index to the operations' bytes; nil or none becomes `absent`. Rules get all but decisions as tables, for which
   they need memory. */
static void encode_to(lua_State *L, int index, const char *root, const char *absent, uint32_t *at, uint32_t *length) {
  rb_vm *vm = rb_vm_of(L);
  *at = (uint32_t)vm->operations.bytes.length;
  if (lua_isinteger(L, index)) {
    rb_append_integer(vm, &vm->operations.bytes, lua_tointeger(L, index));
  } else if (lua_isnoneornil(L, index)) {
    rb_append(vm, &vm->operations.bytes, absent, strlen(absent));
  } else {
    rb_encode(L, index, &vm->operations.bytes, RB_KIND_VALUE, root);
    if (vm->encoding.parts > RB_PARTS && root != rb_decision_root)
      rb_raise(L, RB_KIND_VALUE, "%s has %zu lists, objects and members, where %d are allowed", root, vm->encoding.parts, RB_PARTS);
  }
  *length = (uint32_t)(vm->operations.bytes.length - *at);
  rb_charge(L, *length);
}

/* Raises the error on the options at index, which have another key: of several it names the first as text. */
static void refuse_options(lua_State *L, int index, const char *function, const char *one, const char *other) {
  lua_pushstring(L, one);
  lua_pushstring(L, other);
  lua_pushnil(L);
  int named = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (lua_rawequal(L, -1, named - 2) || lua_rawequal(L, -1, named - 1)) continue;
    rb_push_display(L, -1);
    if (lua_isnil(L, named) || strcmp(lua_tostring(L, -1), lua_tostring(L, named)) < 0) {
      lua_replace(L, named);
    } else {
      lua_pop(L, 1);
    }
  }
  const char *text = lua_tostring(L, named);
  if (!other) rb_raise(L, RB_KIND_VALUE, "%s: no option '%.64s'; the option is %s", function, text, one);
  rb_raise(L, RB_KIND_VALUE, "%s: no option '%.64s'; the options are %s and %s", function, text, one, other);
}

void rb_push_options(lua_State *L, int index, const char *function, const char *one, const char *other) {
  luaL_checktype(L, index, LUA_TTABLE);
  int options = lua_gettop(L) + 1;
  if (!rb_push_store(L, index)) {
    if (lua_getmetatable(L, index)) rb_raise(L, RB_KIND_VALUE, "%s: the options have a metatable: give a plain table", function);
    lua_pushvalue(L, index);
  }
  int known = rb_push_member(L, options, one) != LUA_TNIL;
  if (other) known += rb_push_member(L, options, other) != LUA_TNIL;
  lua_pushnil(L);
  while (lua_next(L, options)) {
    lua_pop(L, 1);
    if (--known < 0) refuse_options(L, options, function, one, other);
  }
  lua_remove(L, options);
}

/* Operations ------------------------------------------------------------------------------------------------------------------- */

static int host_decide(lua_State *L) {
  rb_vm *vm = rb_changing(L, "decide");
  const rb_label *known = rb_label_of(L, vm, 1);
  rb_slice key;
  if (known && known->key_length > 0) {
    key = (rb_slice){known->key, known->key_length};
  } else {
    key = rb_check_name(L, 1, "a decision's key");
  }
  if (lua_gettop(L) < 2) luaL_checkany(L, 2);
  rb_op noted = {0};
  const rb_op *decided = rb_find_decision(vm, key);
  if (decided) {
    noted.integer = decided->rule;
    rb_add_text(vm, key, &noted.a, &noted.a_length);
    rb_add_op(vm, RB_OP_SHADOWED, noted);
    return 0;
  }
  rb_add_text(vm, key, &noted.a, &noted.a_length);
  vm->encoding.decision = key;
  encode_to(L, 2, rb_decision_root, "null", &noted.b, &noted.b_length);
  rb_add_op(vm, RB_OP_DECIDE, noted);
  return 0;
}

/* Has the host check the data of an event that a rule makes by calling `function`; raises its refusal. */
static void check_data(lua_State *L, const char *function, rb_slice type, uint32_t at, uint32_t length) {
  rb_vm *vm = rb_vm_of(L);
  if (!rb_may_be_checked(vm, type)) return;
  rb_value arguments[] = {{.type = RB_STRING, .text = {function, strlen(function)}},
                          {.type = RB_STRING, .text = type},
                          {.type = RB_STRING, .text = {vm->operations.bytes.bytes + at, length}}};
  rb_ask_host(L, RB_CALL_CHECK_DATA, arguments, 3);
}

static int host_emit(lua_State *L) {
  rb_vm *vm = rb_changing(L, "emit");
  lua_settop(L, 4);
  rb_op noted = {0};
  rb_slice sink = rb_check_name(L, 1, "a sink's name");
  rb_slice type = rb_check_name(L, 2, "an effect's type");
  rb_add_text(vm, sink, &noted.a, &noted.a_length);
  rb_add_text(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 3, "effect's data", "{}", &noted.c, &noted.c_length);
  if (lua_isnil(L, 4)) {
    lua_settop(L, 6);
  } else {
    rb_push_options(L, 4, "emit", "id", "key");
  }
  bool has_id = !lua_isnil(L, 5);
  if (!lua_isnil(L, 6)) noted.flags = RB_OP_KEYED;
  if (has_id) rb_check_name(L, 5, "an effect's id");
  if (noted.flags) rb_check_name(L, 6, "an effect's key");
  /* The host checks the sink and makes an id, which is ignored if the rule gave one. */
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 6);
  rb_call_host(L, RB_CALL_EFFECT_ID, 7);
  int id = has_id ? 5 : lua_gettop(L);
  rb_add_text(vm, rb_check_text(L, id), &noted.d, &noted.d_length);
  rb_add_op(vm, RB_OP_EMIT, noted);
  lua_pushvalue(L, id);
  return 1;
}

static int host_raise(lua_State *L) {
  rb_vm *vm = rb_changing(L, "raise");
  rb_slice type = rb_check_name(L, 1, "an event's type");
  if (vm->operations.depth + 1 > RAISE_DEPTH)
    return rb_raise(L, RB_KIND_CYCLE, "raised deeper than 32 events: %.*s > %.*s", (int)(vm->operations.chain.length < 700 ? vm->operations.chain.length : 700),
                    vm->operations.chain.bytes, (int)type.length, type.bytes);
  rb_op noted = {0};
  rb_add_text(vm, type, &noted.a, &noted.a_length);
  encode_to(L, 2, "event's data", "{}", &noted.b, &noted.b_length);
  check_data(L, "raise", type, noted.b, noted.b_length);
  rb_slice chain = {vm->operations.chain.bytes, vm->operations.chain.length};
  rb_add_text(vm, chain, &noted.c, &noted.c_length);
  noted.integer = vm->operations.depth + 1;
  rb_add_op(vm, RB_OP_RAISE, noted);
  return 0;
}

static int host_send(lua_State *L) {
  rb_vm *vm = rb_changing(L, "send");
  rb_op noted = {0};
  rb_slice subject = rb_check_name(L, 1, "a subject");
  rb_slice type = rb_check_name(L, 2, "an event's type");
  rb_add_text(vm, subject, &noted.a, &noted.a_length);
  rb_add_text(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 3, "message's data", "{}", &noted.c, &noted.c_length);
  check_data(L, "send", type, noted.c, noted.c_length);
  rb_add_op(vm, RB_OP_SEND, noted);
  return 0;
}

/* Topics ----------------------------------------------------------------------------------------------------------------------- */

static int host_publish(lua_State *L) {
  rb_vm *vm = rb_changing(L, "publish");
  lua_settop(L, 4);
  rb_op noted = {0};
  rb_slice name = rb_check_name(L, 1, "a topic's name");
  rb_slice type = rb_check_name(L, 2, "an event's type");
  rb_add_text(vm, name, &noted.a, &noted.a_length);
  rb_add_text(vm, type, &noted.b, &noted.b_length);
  encode_to(L, 3, "publication's data", "{}", &noted.c, &noted.c_length);
  check_data(L, "publish", type, noted.c, noted.c_length);
  if (!lua_isnil(L, 4)) {
    rb_push_options(L, 4, "publish", "except", NULL);
    if (!lua_isnil(L, -1)) rb_add_text(vm, rb_check_name(L, lua_gettop(L), "the subject that a publication leaves out"), &noted.d, &noted.d_length);
  }
  rb_add_op(vm, RB_OP_PUBLISH, noted);
  return 0;
}

static int change_topic(lua_State *L, const char *function, rb_op_kind kind) {
  rb_vm *vm = rb_changing(L, function);
  rb_op noted = {0};
  rb_add_text(vm, rb_check_name(L, 1, "a topic's name"), &noted.a, &noted.a_length);
  rb_add_op(vm, kind, noted);
  return 0;
}

static int host_topic_join(lua_State *L) { return change_topic(L, "topic.join", RB_OP_TOPIC_JOIN); }

static int host_topic_leave(lua_State *L) { return change_topic(L, "topic.leave", RB_OP_TOPIC_LEAVE); }

static int host_topic_joined(lua_State *L) {
  rb_evaluating(L, "topic.joined");
  rb_check_name(L, 1, "a topic's name");
  lua_settop(L, 1);
  rb_known known = rb_known_topic(L, 1);
  if (known == RB_UNKNOWN) return rb_call_host(L, RB_CALL_TOPIC_JOINED, 1);
  lua_pushboolean(L, known == RB_KNOWN_SET);
  return 1;
}

static int host_topic_count(lua_State *L) {
  rb_reading(L, "topic.count");
  rb_check_name(L, 1, "a topic's name");
  lua_settop(L, 1);
  return rb_call_host(L, RB_CALL_TOPIC_COUNT, 1);
}

static int host_once(lua_State *L) {
  rb_vm *vm = rb_changing(L, "once");
  lua_settop(L, 2);
  rb_slice key = rb_check_name(L, 1, "a once key");
  lua_Number seconds = luaL_optnumber(L, 2, 0);
  bool expires = !lua_isnil(L, 2);
  if (expires && !(seconds > 0 && seconds < 1e12)) return rb_raise(L, RB_KIND_VALUE, "once must expire after a positive number of seconds");
  rb_known known = rb_known_once(L, 1);
  if (known == RB_UNKNOWN) known = rb_call_host(L, RB_CALL_ONCE, 1) == 1 && lua_toboolean(L, -1) ? RB_KNOWN_UNSET : RB_KNOWN_SET;
  if (known == RB_KNOWN_SET) {
    lua_pushboolean(L, 0);
    return 1;
  }
  rb_op noted = {.flags = expires, .number = seconds};
  rb_add_text(vm, key, &noted.a, &noted.a_length);
  rb_add_op(vm, RB_OP_ONCE, noted);
  lua_pushboolean(L, 1);
  return 1;
}

/* For how many seconds something is kept, by the option `keep` in the table at index, which is its only one. */
static uint32_t check_keep(lua_State *L, int index, const char *function) {
  if (lua_type(L, index) != LUA_TTABLE)
    rb_raise(L, RB_KIND_VALUE, "the options of %s are a table such as { keep = \"400d\" }, not a %s", function, luaL_typename(L, index));
  rb_push_options(L, index, function, "keep", NULL);
  int keep = lua_gettop(L), type = lua_type(L, keep);
  if (type == LUA_TNIL) return 0;
  if (type == LUA_TSTRING) rb_call_host(L, RB_CALL_DURATION, keep);
  lua_Number seconds = type == LUA_TSTRING && lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (seconds < 1 || seconds > KEEP_SECONDS)
    rb_raise(L, RB_KIND_VALUE, "%s: keep is a duration in whole numbers such as \"400d\", of 100 years at most", function);
  return (uint32_t)seconds;
}

static int host_count(lua_State *L) {
  rb_vm *vm = rb_changing(L, "count");
  lua_settop(L, 4);
  rb_op noted = {0};
  if (!lua_isnil(L, 4)) noted.c = check_keep(L, 4, "count");
  rb_slice name = rb_check_name(L, 1, "a counter's name");
  rb_add_text(vm, name, &noted.a, &noted.a_length);
  noted.b = (uint32_t)vm->operations.bytes.length;
  rb_encode_labels(L, 2);
  noted.b_length = (uint32_t)(vm->operations.bytes.length - noted.b);
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
  rb_add_op(vm, RB_OP_COUNT, noted);
  return 0;
}

/* Adds the operation that sets the timer of the name at 1, for the event whose type and data are at `type` and the index after it. */
static int set_timer(lua_State *L, const char *function, rb_op noted, int type_index) {
  rb_vm *vm = rb_vm_of(L);
  rb_slice type = rb_check_name(L, type_index, "an event's type");
  rb_add_text(vm, rb_check_name(L, 1, "a timer's name"), &noted.a, &noted.a_length);
  rb_add_text(vm, type, &noted.b, &noted.b_length);
  encode_to(L, type_index + 1, "timer's data", "{}", &noted.c, &noted.c_length);
  check_data(L, function, type, noted.c, noted.c_length);
  rb_add_op(vm, RB_OP_TIMER_SET, noted);
  return 0;
}

static int host_timer_set(lua_State *L) {
  rb_vm *vm = rb_changing(L, "timer.set");
  rb_check_name(L, 1, "a timer's name");
  if (lua_type(L, 2) != LUA_TNUMBER) return rb_raise(L, RB_KIND_VALUE, "a timer is due at epoch seconds, not at a %s", luaL_typename(L, 2));
  lua_Number when = lua_tonumber(L, 2);
  if (!(when > -1e11 && when < 1e12)) return rb_raise(L, RB_KIND_VALUE, "a timer can't be due at %.14g", when);
  if (when - vm->operations.now > TIMER_SECONDS) return rb_raise(L, RB_KIND_VALUE, "a timer can't be due at %.14g, more than 10 years from now", when);
  rb_op noted = {.number = fmax(when, vm->operations.earliest_timer)};
  return set_timer(L, "timer.set", noted, 3);
}

static int host_timer_every(lua_State *L) {
  rb_vm *vm = rb_changing(L, "timer.every");
  lua_settop(L, 4);
  rb_check_name(L, 1, "a timer's name");
  if (lua_type(L, 2) != LUA_TTABLE)
    return rb_raise(L, RB_KIND_VALUE, "timer.every takes a table such as { seconds = 3600 }, not a %s", luaL_typename(L, 2));
  rb_value arguments[] = {{.type = RB_STRING, .text = rb_encode_result(L, 2, RB_KIND_VALUE, "timer.every")},
                          {.type = RB_NUMBER, .number = vm->operations.now},
                          {.type = RB_NUMBER, .number = fmax(vm->operations.now, vm->operations.earliest_timer)}};
  rb_ask_host(L, RB_CALL_TIMER_EVERY, arguments, 3);
  rb_op noted = {.number = lua_tonumber(L, 5)};
  rb_add_text(vm, rb_check_text(L, 6), &noted.d, &noted.d_length);
  return set_timer(L, "timer.every", noted, 3);
}

static int host_timer_cancel(lua_State *L) {
  rb_vm *vm = rb_changing(L, "timer.cancel");
  rb_op noted = {0};
  rb_add_text(vm, rb_check_name(L, 1, "a timer's name"), &noted.a, &noted.a_length);
  rb_add_op(vm, RB_OP_TIMER_CANCEL, noted);
  return 0;
}

static int host_timer_due(lua_State *L) {
  rb_evaluating(L, "due");
  rb_slice name = rb_check_text(L, 1);
  lua_settop(L, 1);
  if (name.length > NAME_LIMIT) {
    lua_pushnil(L);
    return 1;
  }
  lua_Number when;
  switch (rb_known_timer(L, 1, &when)) {
    case RB_KNOWN_SET: lua_pushnumber(L, round(when * 1e6) / 1e6); return 1;
    case RB_KNOWN_UNSET: lua_pushnil(L); return 1;
    default: return rb_call_host(L, RB_CALL_TIMER_DUE, 1);
  }
}

#define FORGETS "forget takes nothing, { all = true } or { past = true }"

/* Reads the options at 1 into `all` and `past`. */
static void read_forget(lua_State *L, bool *all, bool *past) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) return;
  if (!lua_istable(L, 1)) rb_raise(L, RB_KIND_VALUE, FORGETS ", not a %s", luaL_typename(L, 1));
  int options = rb_push_store(L, 1) ? 2 : 1;
  lua_pushnil(L);
  while (lua_next(L, options)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    bool *option = strcmp(name, "all") == 0 ? all : strcmp(name, "past") == 0 ? past : NULL;
    if (!option || !lua_isboolean(L, -1)) rb_raise(L, RB_KIND_VALUE, FORGETS ", and no other option");
    *option = lua_toboolean(L, -1);
    if (option == past && !*past) rb_raise(L, RB_KIND_VALUE, "forget { past = false } would erase the plugin's state: don't call it then");
    lua_pop(L, 1);
  }
  if (*all && *past) rb_raise(L, RB_KIND_VALUE, FORGETS ", not both");
}

static int host_forget(lua_State *L) {
  rb_vm *vm = rb_changing(L, "forget");
  bool all = false, past = false;
  read_forget(L, &all, &past);
  rb_op noted = {.flags = all ? RB_OP_ALL : 0};
  rb_add_op(vm, past ? RB_OP_FORGET_PAST : RB_OP_FORGET, noted);
  if (past) return 0;
  vm->operations.forgotten = vm->operations.count;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
  if (rb_push_store(L, -1)) lua_remove(L, -2);
  if (!lua_istable(L, -1)) return 0;
  rb_remove_members(L, lua_gettop(L));
  return 0;
}

static int host_now(lua_State *L) {
  lua_pushnumber(L, rb_evaluating(L, "now")->operations.now);
  return 1;
}

static int host_log(lua_State *L) {
  rb_vm *vm = rb_evaluating(L, "log");
  require_room(L, vm);
  lua_Integer level = lua_tointeger(L, lua_upvalueindex(1));
  lua_settop(L, 2);
  rb_push_display(L, 1);
  rb_op noted = {0};
  rb_slice message = rb_check_text(L, 3);
  if (message.length > 4096) message.length = 4096;
  rb_add_text(vm, message, &noted.a, &noted.a_length);
  encode_to(L, 2, "log fields", "", &noted.b, &noted.b_length);
  noted.integer = level;
  rb_add_op(vm, RB_OP_LOG, noted);
  return 0;
}

void rb_open_operations(lua_State *L) {
  static const luaL_Reg plain[] = {{"decide", host_decide},   {"emit", host_emit},     {"raise", host_raise}, {"send", host_send},
                                   {"publish", host_publish}, {"once", host_once},     {"count", host_count}, {"forget", host_forget},
                                   {"now", host_now},         {NULL, NULL}};
  static const luaL_Reg timer[] = {
      {"set", host_timer_set}, {"every", host_timer_every}, {"cancel", host_timer_cancel}, {"due", host_timer_due}, {NULL, NULL}};
  static const luaL_Reg topic[] = {
      {"join", host_topic_join}, {"leave", host_topic_leave}, {"joined", host_topic_joined}, {"count", host_topic_count}, {NULL, NULL}};
  static const rb_closure log[] = {{"debug", host_log, 0}, {"info", host_log, 1}, {"warn", host_log, 2}, {"error", host_log, 3}, {0}};
  luaL_setfuncs(L, plain, 0);
  rb_add_table(L, "timer", timer, NULL);
  rb_add_table(L, "topic", topic, NULL);
  rb_add_table(L, "log", NULL, log);
}
