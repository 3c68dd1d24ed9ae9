/*
 * Whether a state has the shape that its plugin declares.
 *
 * The check is right before the encoding, and visits the declared members, so that a large array or map of no declared content costs
 * nothing. Values that can't be stored at all are left to the encoder.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

/* Declaring -------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const rb_fit_part *parts;
  size_t count;
} fit_parts;

/* Sets the end of the part at `i`, and of its own parts; returns it. */
static uint32_t set_ends(rb_vm *vm, const rb_fit_part *parts, uint32_t i) {
  uint32_t end = i + 1;
  for (int part = 0; part < parts[i].parts; part++) end = set_ends(vm, parts, end);
  return vm->fit.nodes[i].end = end;
}

static int fit_body(lua_State *L) {
  const fit_parts *given = lua_touserdata(L, 1);
  rb_vm *vm = rb_vm_of(L);
  lua_createtable(L, (int)given->count, 0);
  for (size_t i = 0; i < given->count; i++) {
    const rb_fit_part *part = &given->parts[i];
    rb_fit_node *node = &vm->fit.nodes[i];
    lua_pushlstring(L, part->name.bytes ? part->name.bytes : "", part->name.length);
    node->name = lua_tolstring(L, -1, &node->name_length);
    node->type = part->type;
    node->optional = part->optional;
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_FIT);
  set_ends(vm, given->parts, 0);
  return 0;
}

rb_status rb_set_fit(rb_vm *vm, const rb_fit_part *parts, size_t count, bool closed) {
  fit_parts given = {parts, count};
  vm->fit.nodes = calloc(count, sizeof *vm->fit.nodes);
  if (!vm->fit.nodes) abort();
  vm->fit.closed = closed;
  return rb_protect(vm, fit_body, &given);
}

/* Checking --------------------------------------------------------------------------------------------------------------------- */

static const char *const type_names[] = {"a value", "a string",  "a boolean", "an integer", "a number",
                                         "an object", "an array", "an array",  "an object"};

static bool is_absent(lua_State *L, int index) {
  return lua_isnil(L, index) || (lua_type(L, index) == LUA_TLIGHTUSERDATA && lua_touserdata(L, index) == &rb_null);
}

/* Pushes the table at index, or its store if it is a proxy. */
static void push_content(lua_State *L, int index) {
  if (!rb_push_store(L, index)) lua_pushvalue(L, index);
}

/* The kinds of a table: an object, an array, or both while it is empty. */
static void table_kinds(lua_State *L, int index, bool *object, bool *array) {
  int top = lua_gettop(L);
  push_content(L, index);
  bool marked = rb_is_array(L, top + 1);
  lua_pushnil(L);
  bool empty = !lua_next(L, top + 1);
  bool numbered = !empty && lua_type(L, -2) == LUA_TNUMBER;
  *object = !marked && !numbered;
  *array = marked || numbered || empty;
  lua_settop(L, top);
}

/* Whether the value at index is of the type; its content is not looked at. */
static bool is_of_type(lua_State *L, rb_fit_type type, int index) {
  bool object = false, array = false;
  int converts = 0;
  switch (type) {
    case RB_FIT_ANY: return !is_absent(L, index);
    case RB_FIT_STRING: return lua_type(L, index) == LUA_TSTRING;
    case RB_FIT_BOOLEAN: return lua_isboolean(L, index);
    case RB_FIT_NUMBER: return lua_type(L, index) == LUA_TNUMBER;
    case RB_FIT_INTEGER:
      if (lua_type(L, index) != LUA_TNUMBER) return false;
      lua_tointegerx(L, index, &converts);
      /* The first whole numbers beyond 64 bits round to -2^63. */
      return converts && (lua_isinteger(L, index) || lua_tonumber(L, index) > -0x1p63);
    default:
      if (lua_type(L, index) != LUA_TTABLE) return false;
      table_kinds(L, index, &object, &array);
      return type == RB_FIT_ARRAY || type == RB_FIT_ELEMENTS ? array : object;
  }
}

/* The kind of the value at index, with its article. */
static const char *kind_name(lua_State *L, int index) {
  bool object = false, array = false;
  switch (lua_type(L, index)) {
    case LUA_TSTRING: return "a string";
    case LUA_TBOOLEAN: return "a boolean";
    case LUA_TNUMBER: return lua_isinteger(L, index) ? "an integer" : "a number";
    case LUA_TTABLE: table_kinds(L, index, &object, &array); return object ? "an object" : "an array";
    default: return is_absent(L, index) ? "null" : lua_pushfstring(L, "a %s", luaL_typename(L, index));
  }
}

static _Noreturn void refuse(lua_State *L, int depth, rb_misfit misfit, uint32_t part, const char *problem) {
  rb_vm *vm = rb_vm_of(L);
  if (!vm->encoding.bad.stays) {
    vm->fit.misfit = misfit;
    vm->fit.part = part;
  }
  rb_refuse_state(L, depth, problem);
}

static void check_value(lua_State *L, uint32_t part, int index, int depth);

/* Refuses the first key as text of the table at index, whatever the order of its keys, that is no member of the part. */
static void check_keys(lua_State *L, uint32_t part, int table, int depth) {
  const rb_vm *vm = rb_vm_of(L);
  const char *unknown = NULL;
  size_t unknown_length = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) continue;
    size_t length;
    const char *key = lua_tolstring(L, -1, &length);
    if (rb_declared_member(&vm->fit, part, key, length) < vm->fit.nodes[part].end) continue;
    if (unknown && strcmp(unknown, key) <= 0) continue;
    unknown = key;
    unknown_length = length;
  }
  if (!unknown) return;
  rb_step *step = &rb_vm_of(L)->encoding.path[depth];
  step->key = unknown;
  step->key_length = unknown_length;
  refuse(L, depth + 1, RB_MISFIT_UNKNOWN, part, "is no member that the plugin's state declares");
}

static void check_members(lua_State *L, uint32_t part, int table, int depth) {
  rb_vm *vm = rb_vm_of(L);
  rb_step *step = &vm->encoding.path[depth];
  int names = lua_gettop(L) + 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_FIT);
  for (uint32_t member = part + 1; member < vm->fit.nodes[part].end; member = vm->fit.nodes[member].end) {
    lua_rawgeti(L, names, (lua_Integer)member + 1);
    lua_rawget(L, table);
    step->key = vm->fit.nodes[member].name;
    step->key_length = vm->fit.nodes[member].name_length;
    if (!is_absent(L, names + 1)) {
      check_value(L, member, names + 1, depth + 1);
    } else if (!vm->fit.nodes[member].optional) {
      refuse(L, depth + 1, RB_MISFIT_MISSING, member, "is required, as the plugin's state declares it without '?'");
    }
    lua_settop(L, names);
  }
  if (vm->fit.closed) check_keys(L, part, table, depth);
}

static void check_elements(lua_State *L, uint32_t part, int table, int depth) {
  rb_step *step = &rb_vm_of(L)->encoding.path[depth];
  lua_Integer count = (lua_Integer)lua_rawlen(L, table);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, table, i);
    step->key = NULL;
    step->index = i;
    if (!lua_isnil(L, -1)) check_value(L, part + 1, lua_gettop(L), depth + 1);
    lua_settop(L, table);
  }
}

static void check_value(lua_State *L, uint32_t part, int index, int depth) {
  rb_fit_type type = rb_vm_of(L)->fit.nodes[part].type;
  luaL_checkstack(L, 12, NULL);
  if (!is_of_type(L, type, index)) {
    char problem[128];
    snprintf(problem, sizeof problem, "must be %s, not %s", type_names[type], kind_name(L, index));
    refuse(L, depth, is_absent(L, index) ? RB_MISFIT_NULL : RB_MISFIT_TYPE, part, problem);
  }
  if (type < RB_FIT_ARRAY) return;
  int table = lua_gettop(L) + 1;
  push_content(L, index);
  if (type == RB_FIT_MEMBERS) {
    check_members(L, part, table, depth);
  } else if (type == RB_FIT_ELEMENTS) {
    check_elements(L, part, table, depth);
  }
  lua_settop(L, table - 1);
}

static void check_fit(lua_State *L, int index) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 4, NULL);
  push_content(L, index);
  lua_pushnil(L);
  /* An empty state fits. */
  if (lua_next(L, top + 1)) {
    lua_settop(L, top + 1);
    check_value(L, 0, top + 1, 0);
  }
  lua_settop(L, top);
}

void rb_encode_fitting(lua_State *L, int index, size_t limit, bool fits) {
  rb_vm *vm = rb_vm_of(L);
  if (!vm->encoding.bad.stays) vm->fit.misfit = RB_MISFIT_NONE;
  vm->fit.applies = fits && vm->fit.nodes;
  if (vm->fit.applies) check_fit(L, index);
  rb_encode_within(L, index, &vm->result, RB_KIND_STATE, "state", limit);
}

bool rb_has_misfit(const rb_vm *vm) { return vm->fit.misfit != RB_MISFIT_NONE; }

bool rb_is_misfit(lua_State *L, int index) {
  const rb_vm *vm = rb_vm_of(L);
  switch (vm->fit.misfit) {
    case RB_MISFIT_UNKNOWN: return !lua_isnil(L, index);
    case RB_MISFIT_MISSING: return is_absent(L, index);
    case RB_MISFIT_NULL: return !lua_isnil(L, index) && is_absent(L, index);
    default: return !is_absent(L, index) && !is_of_type(L, vm->fit.nodes[vm->fit.part].type, index);
  }
}
