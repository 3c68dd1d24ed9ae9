/*
 * Finds the line that put an unstorable value into the state, or that asked for an operation which can't be done.
 *
 * The state is encoded, and operations are checked, once all rules have run: by then the value's place, or the operation's number, is known, but not
 * the line. The event is run once more, with a look before each instruction: once the value or the operation is there, the instruction before is
 * to blame.
 */
#include <math.h>

#include "vm.h"

static void look(lua_State *L, lua_Debug *activation);

void rb_set_blaming(rb_vm *vm, bool blaming, size_t operation) {
  rb_watch_instructions(vm, blaming ? look : NULL);
  rb_keep_bad_place(vm, blaming);
  if (blaming) vm->blame = (rb_blame){.operation = operation};
}

static bool is_asked(const rb_vm *vm) { return vm->operations.count >= vm->blame.operation; }

/* Notes whether the value or the operation is there now. */
static void note(rb_blame *blame, bool bad) {
  /* A value that was there before the first instruction has no culprit; one that has gone again needs none. */
  if (bad && !blame->was_bad && blame->last_source) {
    blame->source = blame->last_source;
    blame->line = blame->last_line;
    blame->rule = blame->last_rule;
  } else if (!bad) {
    blame->source = NULL;
  }
  blame->was_bad = bad;
}

bool rb_blamed(rb_vm *vm, rb_slice *file, int *line, int *rule) {
  /* The last instruction of all may have asked for it. */
  if (vm->blame.operation) note(&vm->blame, is_asked(vm));
  if (!vm->blame.source) return false;
  file->bytes = vm->blame.source;
  file->length = strlen(vm->blame.source);
  *line = vm->blame.line;
  *rule = vm->blame.rule;
  return true;
}

/* Whether the keys of the table at index are neither names alone, in UTF-8 and unless it is marked as an array, nor 1 to n. */
static bool has_bad_keys(lua_State *L, int table) {
  lua_Integer count = 0, highest = 0;
  bool names = false, bad = false;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      size_t length;
      const char *name = lua_tolstring(L, -1, &length);
      names = true;
      bad = bad || !rb_is_utf8(name, length);
    } else if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) {
      count++;
      if (lua_tointeger(L, -1) > highest) highest = lua_tointeger(L, -1);
    } else {
      lua_pop(L, 1);
      return true;
    }
  }
  return bad || (names ? count > 0 || rb_is_array(L, table) : highest != count);
}

/* Whether the value at index can't be stored by itself; its elements are not looked at. */
static bool is_bad(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: return !lua_isinteger(L, index) && !isfinite(lua_tonumber(L, index));
    case LUA_TSTRING: {
      size_t length;
      const char *bytes = lua_tolstring(L, index, &length);
      return !rb_is_utf8(bytes, length);
    }
    case LUA_TLIGHTUSERDATA: return lua_touserdata(L, index) != &rb_null;
    case LUA_TTABLE:
      if (rb_push_store(L, index)) return false;
      if (lua_getmetatable(L, index)) {
        lua_pop(L, 1);
        if (!rb_is_array(L, index)) return true;
      }
      return has_bad_keys(L, index);
    case LUA_TNIL:
    case LUA_TBOOLEAN: return false;
    default: return true;
  }
}

/* Whether the value that can't be stored is in its place in the state. */
static bool is_in_place(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  const rb_bad_place *place = rb_last_bad_place(vm);
  const bool misfits = rb_has_misfit(vm);
  const void *tables[RB_DEPTH + 2];
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STATE);
  for (int i = 0; i < place->depth; i++) {
    if (rb_push_store(L, -1)) lua_remove(L, -2);
    if (lua_type(L, -1) != LUA_TTABLE) return false;
    if (misfits && i == 0) {
      /* An empty state fits. */
      lua_pushnil(L);
      if (!lua_next(L, -2)) return false;
      lua_pop(L, 2);
    }
    tables[i] = lua_topointer(L, -1);
    const rb_bad_step *step = &place->steps[i];
    if (step->is_key) {
      lua_pushlstring(L, place->keys.bytes + step->key, step->key_length);
    } else {
      lua_pushinteger(L, step->index);
    }
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  if (misfits) return rb_is_misfit(L, lua_gettop(L));
  const void *leaf = lua_topointer(L, -1);
  for (int i = 0; i < place->depth; i++)
    if (lua_type(L, -1) == LUA_TTABLE && tables[i] == leaf) return true;
  if (place->depth >= RB_DEPTH && lua_type(L, -1) == LUA_TTABLE) return true;
  return is_bad(L, lua_gettop(L));
}

/* Comes before each instruction. */
static void look(lua_State *L, lua_Debug *activation) {
  rb_vm *vm = rb_vm_of(L);
  /* The line that resumes a coroutine is to blame for all that the coroutine does. */
  if (L != vm->L || vm->phase != RB_PHASE_EVENT) return;
  int top = lua_gettop(L);
  luaL_checkstack(L, 12, NULL);
  note(&vm->blame, vm->blame.operation ? is_asked(vm) : is_in_place(L));
  lua_settop(L, top);
  lua_getinfo(L, "Sl", activation);
  if (activation->source[0] != '@' || activation->currentline <= 0) return;
  vm->blame.last_source = activation->source + 1;
  vm->blame.last_line = activation->currentline;
  vm->blame.last_rule = vm->operations.rule;
}
