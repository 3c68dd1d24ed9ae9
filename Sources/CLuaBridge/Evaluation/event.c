/*
 * The table that rules get as the event.
 *
 * Most rules read few fields. So its store begins empty, with a metatable through which Lua asks for missing fields. Functions that need all of
 * them (`pairs`, the encoder) have the store filled first; a full store has no metatable.
 */
#include "vm.h"

enum { FIELD_ID = 1, FIELD_SOURCE = 2, FIELD_TYPE = 4, FIELD_SUBJECT = 8, FIELD_TIME = 16, FIELD_DATA = 32, FIELD_ORIGIN = 64, FIELD_SENDER = 128 };

static const struct {
  const char *name;
  unsigned field;
} fields[] = {{"id", FIELD_ID},     {"source", FIELD_SOURCE}, {"type", FIELD_TYPE},     {"subject", FIELD_SUBJECT},
              {"time", FIELD_TIME}, {"data", FIELD_DATA},     {"origin", FIELD_ORIGIN}, {"sender", FIELD_SENDER}};

enum { FIELDS = sizeof fields / sizeof *fields };

/* Extensions ------------------------------------------------------------------------------------------------------------------- */

static bool is_own_attribute(const char *name, size_t length) {
  static const char *const own[] = {"type",        "subject", "id",      "source", "time",     "data",   "origin", "sender",
                                    "specversion", "dryrun",  "explain", "wait",   "internal"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strlen(own[i]) == length && memcmp(own[i], name, length) == 0) return true;
  return false;
}

/* Sets the event's extensions in the table on top; returns whether there are any. An array is none: it lists the redacted paths. */
static bool set_extensions(lua_State *L, const rb_event *event) {
  if (!event->attributes) return false;
  bool any = false;
  const uint64_t *tape = event->json.tape;
  const uint8_t *strings = event->json.strings;
  size_t end = cj_end(tape, event->attributes);
  for (size_t at = cj_first(event->attributes); at < end;) {
    size_t length, value = cj_next(tape, at);
    const char *name = cj_string(tape, strings, at, &length);
    if (cj_type(tape, value) != CJ_NULL && cj_type(tape, value) != CJ_ARRAY && !is_own_attribute(name, length)) {
      rb_push_name(L, name, length);
      rb_push_json(L, event->json, value, RB_DECODE_EVENT, true);
      lua_rawset(L, -3);
      any = true;
    }
    at = cj_next(tape, value);
  }
  return any;
}

/* Data ------------------------------------------------------------------------------------------------------------------------- */

void rb_push_data(lua_State *L, rb_json json, size_t data) {
  if (data && cj_type(json.tape, data) != CJ_NULL) {
    rb_push_json(L, json, data, RB_DECODE_EVENT, true);
  } else {
    lua_newtable(L);
    rb_push_frozen(L);
  }
}

/* Pushes the data of the current event. For an object, the proxy of the last event is reused; rules can't notice. */
static void push_own_data(lua_State *L, const rb_event *event) {
  const uint64_t *tape = event->json.tape;
  bool absent = !event->data || cj_type(tape, event->data) == CJ_NULL;
  if (!absent && cj_type(tape, event->data) != CJ_OBJECT) {
    rb_push_json(L, event->json, event->data, RB_DECODE_EVENT, true);
    return;
  }
  if (lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA) == LUA_TNIL) {
    lua_pop(L, 1);
    rb_push_empty_proxy(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA);
  }
  lua_createtable(L, 0, absent ? 0 : (int)cj_count(tape, event->data));
  if (!absent) rb_set_members(L, event->json, event->data, RB_DECODE_EVENT, true);
  rb_retarget(L, -2, -1);
  lua_pop(L, 1);
}

/* Fields ----------------------------------------------------------------------------------------------------------------------- */

static void push_text(lua_State *L, rb_slice text) { lua_pushlstring(L, text.bytes ? text.bytes : "", text.length); }

static void push_field(lua_State *L, const rb_event *event, unsigned field) {
  switch (field) {
    case FIELD_ID: push_text(L, event->id); break;
    case FIELD_SOURCE: push_text(L, event->source); break;
    case FIELD_TYPE: push_text(L, event->type); break;
    case FIELD_SUBJECT: push_text(L, event->subject); break;
    case FIELD_TIME: lua_pushnumber(L, event->time); break;
    case FIELD_ORIGIN: push_text(L, event->origin); break;
    case FIELD_SENDER: event->sender.length ? push_text(L, event->sender) : lua_pushnil(L); break;
    default: push_own_data(L, event); break;
  }
}

void rb_fill_event(lua_State *L, bool whole) {
  rb_vm *vm = rb_vm_of(L);
  if (!vm->proxies.unfilled) return;
  luaL_checkstack(L, 10, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT_STORE);
  unsigned left = ~vm->current.fields;
  if (!whole) left &= ~(unsigned)(FIELD_TYPE | FIELD_DATA);
  for (int i = 0; i < FIELDS; i++) {
    if (!(fields[i].field & left)) continue;
    push_field(L, &vm->current.event, fields[i].field);
    lua_setfield(L, -2, fields[i].name);
    vm->current.fields |= fields[i].field;
  }
  vm->current.extended = true;
  vm->current.extended = set_extensions(L, &vm->current.event);
  lua_pushnil(L);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  vm->proxies.unfilled = NULL;
}

/* `__index` of a store with missing fields: the store, the name. */
static int find_field(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  lua_settop(L, 2);
  if (!vm->proxies.unfilled || lua_topointer(L, 1) != vm->proxies.unfilled) return 0;
  if (lua_type(L, 2) == LUA_TSTRING) {
    size_t length;
    const char *name = lua_tolstring(L, 2, &length);
    for (int i = 0; i < FIELDS; i++) {
      if (strlen(fields[i].name) != length || memcmp(fields[i].name, name, length) != 0) continue;
      push_field(L, &vm->current.event, fields[i].field);
      lua_pushvalue(L, 2);
      lua_pushvalue(L, 3);
      lua_rawset(L, 1);
      vm->current.fields |= fields[i].field;
      return 1;
    }
  }
  rb_fill_event(L, true);
  lua_rawget(L, 1);
  return 1;
}

void rb_open_event(lua_State *L) {
  rb_vm_of(L)->proxies.fill = rb_fill_event;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, find_field);
  lua_setfield(L, -2, "__index");
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_LAZY);
}

/* Pushes the store: the last event's, emptied, unless that had extensions. */
static void push_store(lua_State *L, rb_vm *vm) {
  if (!vm->current.extended && lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT_STORE) == LUA_TTABLE) {
    for (int i = 0; i < FIELDS; i++) {
      if (!(fields[i].field & vm->current.fields)) continue;
      lua_pushnil(L);
      lua_setfield(L, -2, fields[i].name);
    }
    return;
  }
  lua_createtable(L, 0, 8);
  lua_pushvalue(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT_STORE);
  lua_pushvalue(L, -1);
  rb_push_frozen(L);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT);
}

void rb_make_event(lua_State *L, const rb_event *event) {
  rb_vm *vm = rb_vm_of(L);
  int top = lua_gettop(L);
  vm->current.event = *event;
  push_store(L, vm);
  vm->current.extended = false;
  vm->current.fields = 0;
  if (!vm->proxies.unfilled) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_LAZY);
    lua_setmetatable(L, -2);
    vm->proxies.unfilled = lua_topointer(L, -1);
  }
  lua_settop(L, top);
}
