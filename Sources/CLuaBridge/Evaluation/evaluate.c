/* One event: its tables, its rules, its state. */
#include "vm.h"

/* One event -------------------------------------------------------------------------------------------------------------------- */

static void make_state(lua_State *L, const rb_event *event) {
  if (!event->state.bytes) {
    lua_pushnil(L);
  } else if (event->state.length == 0) {
    lua_newtable(L);
    if (event->read_only) rb_push_frozen(L);
  } else if (!(event->read_only ? rb_push_text(L, event->state.bytes, event->state.length, true)
                                : rb_push_state(L, event->state.bytes, event->state.length))) {
    luaL_error(L, "the stored state is not readable: %s", lua_tostring(L, -1));
  }
  if (event->explain && !event->read_only && lua_istable(L, -1)) {
    lua_newtable(L);
    lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_TRACKED);
    rb_push_tracked(L, -1, "state");
    lua_remove(L, -2);
  }
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
}

static int begin_body(lua_State *L) {
  const rb_event *event = lua_touserdata(L, 1);
  rb_make_event(L, event);
  rb_fill_event(L, true);
  make_state(L, event);
  return 0;
}

static void clear(rb_vm *vm, const rb_event *event) {
  rb_clear_operations(vm, event);
  rb_trim(&vm->scratch);
  rb_trim_tokens(vm);
  vm->result.length = 0;
  rb_forget_error(vm);
  vm->current.level = 0;
  rb_seed_random(vm, event->seed);
  rb_clear_costs(vm, event->seed);
  vm->phase = event->read_only ? RB_PHASE_READ : RB_PHASE_EVENT;
}

rb_status rb_begin(rb_vm *vm, const rb_event *event, const rb_budget *budget) {
  clear(vm, event);
  rb_start_budget(vm, budget);
  return rb_protect(vm, begin_body, (void *)event);
}

/* Raised events ---------------------------------------------------------------------------------------------------------------- */

static int complete_body(lua_State *L) {
  rb_fill_event(L, true);
  return 0;
}

rb_status rb_complete_event(rb_vm *vm) { return vm->proxies.unfilled ? rb_protect(vm, complete_body, NULL) : RB_OK; }

typedef struct {
  rb_slice type;
  rb_json json;
  size_t data;
} raised_event;

static int raised_body(lua_State *L) {
  const raised_event *raised = lua_touserdata(L, 1);
  rb_vm *vm = rb_vm_of(L);
  rb_fill_event(L, false);
  lua_createtable(L, 0, 10);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT_STORE);
  lua_pushnil(L);
  while (lua_next(L, 3)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 2);
  }
  lua_settop(L, 2);
  lua_pushlstring(L, raised->type.bytes ? raised->type.bytes : "", raised->type.length);
  lua_setfield(L, -2, "type");
  rb_push_data(L, raised->json, raised->data);
  lua_setfield(L, -2, "data");
  lua_pushliteral(L, "raise");
  lua_setfield(L, -2, "origin");
  lua_pushnil(L);
  lua_setfield(L, -2, "sender");
  rb_push_frozen(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_LEVELS);
  lua_insert(L, -2);
  lua_rawseti(L, -2, vm->current.level);
  return 0;
}

rb_status rb_begin_raised(rb_vm *vm, rb_slice type, rb_json json, size_t data, const rb_budget *budget, int depth, rb_slice chain) {
  raised_event raised = {type, json, data};
  vm->current.level++;
  if (budget) rb_start_budget(vm, budget);
  rb_enter_raised(vm, type, budget ? &chain : NULL, depth);
  return rb_protect(vm, raised_body, &raised);
}

void rb_end_raised(rb_vm *vm) {
  vm->current.level--;
  rb_leave_raised(vm);
}

/* Rules ------------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  int rule;
  bool fired;
} rule_call;

static void push_arguments(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->current.level == 0) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_EVENT);
  } else {
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_LEVELS);
    lua_rawgeti(L, -1, vm->current.level);
    lua_remove(L, -2);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
}

/* Runs a rule if its `when` is true; returns whether it ran. */
static bool run_rule(lua_State *L, int rule) {
  rb_vm *vm = rb_vm_of(L);
  int64_t begun = vm->cost.instructions;
  if (vm->declared.whens > 0) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_WHENS);
    if (lua_rawgeti(L, -1, rule + 1) != LUA_TNIL) {
      push_arguments(L);
      lua_call(L, 2, 1);
      if (!lua_toboolean(L, -1)) return false;
    }
    lua_settop(L, 1);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_RULES);
  lua_rawgeti(L, -1, rule + 1);
  push_arguments(L);
  rb_begin_cost(vm, rule, begun);
  lua_call(L, 2, 0);
  rb_end_cost(vm);
  return true;
}

static int rule_body(lua_State *L) {
  rule_call *call = lua_touserdata(L, 1);
  call->fired = run_rule(L, call->rule);
  return 0;
}

rb_status rb_run_rule(rb_vm *vm, int rule) {
  rule_call call = {rule, false};
  vm->operations.rule = (uint16_t)rule;
  rb_status status = rb_protect(vm, rule_body, &call);
  return status == RB_OK && !call.fired ? RB_NOT_FIRED : status;
}

static void encode_state(lua_State *L, size_t limit) {
  rb_vm_of(L)->result.length = 0;
  if (lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE) == LUA_TTABLE)
    rb_encode_fitting(L, lua_gettop(L), limit ? limit : SIZE_MAX, limit != 0);
}

static int encode_state_body(lua_State *L) {
  encode_state(L, *(const size_t *)lua_touserdata(L, 1));
  return 0;
}

rb_status rb_encode_state(rb_vm *vm, size_t state_limit) { return rb_protect(vm, encode_state_body, &state_limit); }

/* All rules -------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const rb_event *event;
  rb_progress *progress;
} run_call;

static int run_body(lua_State *L) {
  const run_call *call = lua_touserdata(L, 1);
  rb_progress *progress = call->progress;
  rb_vm *vm = rb_vm_of(L);
  rb_make_event(L, call->event);
  make_state(L, call->event);
  while (progress->next < progress->count) {
    lua_settop(L, 1);
    progress->rule = (int)progress->rules[progress->next];
    vm->operations.rule = (uint16_t)progress->rule;
    size_t before = vm->operations.count;
    run_rule(L, progress->rule);
    progress->next++;
    if (rb_raised_since(vm, before)) return 0;
  }
  progress->rule = -1;
  lua_settop(L, 1);
  encode_state(L, progress->state_limit);
  progress->ended = true;
  return 0;
}

rb_status rb_run(rb_vm *vm, const rb_event *event, const rb_budget *budget, bool uncounted, rb_progress *progress) {
  run_call call = {event, progress};
  progress->next = 0;
  progress->rule = -1;
  progress->ended = false;
  clear(vm, event);
  if (uncounted) {
    rb_start_budget_uncounted(vm, budget);
  } else {
    rb_start_budget(vm, budget);
  }
  return rb_protect(vm, run_body, &call);
}

/* Queries and handlers --------------------------------------------------------------------------------------------------------- */

typedef struct {
  int slot, index;
  rb_json json;
  size_t arguments;
  rb_slice argument;
} handler_call;

static int query_body(lua_State *L) {
  const handler_call *call = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_QUERIES);
  lua_rawgeti(L, -1, call->index + 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
  rb_push_data(L, call->json, call->arguments);
  lua_call(L, 2, 1);
  rb_encode_result(L, -1, RB_KIND_VALUE, "result");
  return 0;
}

rb_status rb_query(rb_vm *vm, int index, rb_json json, size_t arguments) {
  handler_call call = {.index = index, .json = json, .arguments = arguments};
  return rb_protect(vm, query_body, &call);
}

static int handler_body(lua_State *L) {
  const handler_call *call = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, call->slot);
  lua_rawgeti(L, -1, call->index + 1);
  rb_slice argument = call->argument;
  /* An effect has the data of a rule within it. */
  cj_doc *parser = rb_vm_of(L)->decoding.parser;
  cj_set_depth(parser, RB_DEPTH + 1);
  bool is_read = rb_push_text(L, argument.bytes, argument.length, true);
  cj_set_depth(parser, RB_DEPTH);
  if (!is_read) return lua_error(L);
  int base = lua_gettop(L) - 2;
  /* A check takes the value and all settings. */
  if (call->slot == RB_SLOT_CHECKS) {
    lua_geti(L, -1, 1);
    lua_geti(L, -2, 2);
    lua_remove(L, -3);
  }
  lua_call(L, lua_gettop(L) - base - 1, LUA_MULTRET);
  rb_push_array(L, base + 1, lua_gettop(L));
  rb_encode_result(L, -1, RB_KIND_VALUE, "result");
  return 0;
}

rb_status rb_handle(rb_vm *vm, rb_declaration kind, int index, rb_slice argument_json) {
  static const int slots[] = {[RB_DECLARE_WEB] = RB_SLOT_WEBS, [RB_DECLARE_SINK] = RB_SLOT_SINKS, [RB_DECLARE_SETTING] = RB_SLOT_CHECKS};
  handler_call call = {.slot = slots[kind], .index = index, .argument = argument_json};
  if (kind != RB_DECLARE_SETTING) vm->phase = RB_PHASE_HANDLER;
  return rb_protect(vm, handler_body, &call);
}

/* Migrations ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const rb_event *event;
  int from, to;
  size_t limit;
  bool fits;
} migration;

/* Replaces the state on top with the step's result. */
static void take_step(lua_State *L, int version, bool up) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STEPS);
  if (lua_rawgeti(L, -1, 2 * version + !up) != LUA_TFUNCTION)
    luaL_error(L, "step %d has no '%s', which the stored state needs", version, up ? "up" : "down");
  lua_remove(L, -2);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  if (lua_type(L, -1) != LUA_TTABLE)
    luaL_error(L, "step %d's '%s' must return the state, not %s", version, up ? "up" : "down", luaL_typename(L, -1));
}

static int migrate_body(lua_State *L) {
  const migration *asked = lua_touserdata(L, 1);
  rb_slice state = asked->event->state;
  if (!rb_push_text(L, state.bytes, state.length, false)) luaL_error(L, "the stored state is not readable: %s", lua_tostring(L, -1));
  for (int version = asked->from; version < asked->to; version++) take_step(L, version + 1, true);
  for (int version = asked->from; version > asked->to; version--) take_step(L, version, false);
  rb_encode_fitting(L, lua_gettop(L), asked->limit, asked->fits);
  return 0;
}

rb_status rb_migrate(rb_vm *vm, const rb_event *event, const rb_budget *budget, int from, int to, size_t state_limit, bool fits) {
  migration asked = {event, from, to, state_limit, fits};
  clear(vm, event);
  vm->phase = RB_PHASE_STEP;
  rb_start_budget(vm, budget);
  return rb_protect(vm, migrate_body, &asked);
}
