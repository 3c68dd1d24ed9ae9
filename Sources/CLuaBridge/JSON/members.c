/*
 * Collects an object's members and sorts them.
 *
 * Most names occur in every event. Short names are kept as labels, which are found by the address of the Lua string; the label keeps the string
 * alive.
 */
#include <stdlib.h>

#include "vm.h"

enum { PATIENCE = 4, FEW = 24 };

/* Labels ----------------------------------------------------------------------------------------------------------------------- */

static rb_label *label_at(rb_vm *vm, const void *string) {
  return &vm->members.labels[(uintptr_t)string * UINT64_C(0x9E3779B97F4A7C15) >> (64 - RB_LABEL_BITS)];
}

/* Keeps the string at index in the slot of one that is no longer used. */
static __attribute__((noinline)) void keep_label(lua_State *L, rb_vm *vm, int index) {
  size_t length;
  const char *key = lua_tolstring(L, index, &length);
  if (length > RB_LABEL_NAME || !rb_is_plain(key, length)) return;
  const void *string = lua_topointer(L, index);
  rb_label *label = label_at(vm, string);
  if (label->string && ++label->missed < PATIENCE) return;
  lua_pushvalue(L, index);
  lua_rawseti(L, LUA_REGISTRYINDEX, RB_SLOT_LABELS + (int)(label - vm->members.labels));
  *label = (rb_label){.string = string, .key = key, .prefix = rb_prefix(key, length), .key_length = (uint8_t)length};
  rb_write_label(label->text, key, length);
}

const rb_label *rb_label_of(lua_State *L, rb_vm *vm, int index) {
  const void *string = lua_topointer(L, index);
  const rb_label *label = label_at(vm, string);
  if (label->string == string && string) return label;
  if (lua_type(L, index) == LUA_TSTRING) keep_label(L, vm, index);
  return NULL;
}

/* Members ---------------------------------------------------------------------------------------------------------------------- */

static bool note_key(lua_State *L, rb_vm *vm, rb_member *member) {
  const rb_label *label = rb_label_of(L, vm, -2);
  member->label = label;
  if (label) {
    member->key = label->key;
    member->key_length = label->key_length;
    member->prefix = label->prefix;
    return true;
  }
  if (lua_type(L, -2) != LUA_TSTRING) return false;
  member->key = lua_tolstring(L, -2, &member->key_length);
  member->prefix = rb_prefix(member->key, member->key_length);
  return true;
}

bool rb_note_member(lua_State *L, rb_vm *vm) {
  if (vm->members.count == vm->members.capacity) rb_grow_array(vm, &vm->members.all, &vm->members.capacity, 256, sizeof(rb_member));
  rb_member *member = &vm->members.all[vm->members.count];
  if (!note_key(L, vm, member)) return false;
  vm->members.count++;
  member->is_integer = lua_isinteger(L, -1);
  if (member->is_integer) {
    member->type = LUA_TNUMBER;
    member->value.integer = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return true;
  }
  member->type = lua_type(L, -1);
  switch (member->type) {
    case LUA_TSTRING: member->value.text.bytes = lua_tolstring(L, -1, &member->value.text.length); break;
    case LUA_TBOOLEAN: member->value.integer = lua_toboolean(L, -1); break;
    case LUA_TNUMBER: member->value.number = lua_tonumber(L, -1); break;
    case LUA_TTABLE:
      luaL_checkstack(L, 6, "too many tables in one value");
      lua_insert(L, -2);
      member->stack_index = lua_gettop(L) - 1;
      return true;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, -1) == &rb_null) member->type = LUA_TNIL;
      break;
    default: break;
  }
  lua_pop(L, 1);
  return true;
}

/* Order ------------------------------------------------------------------------------------------------------------------------ */

static int compare_members(const void *left, const void *right) {
  const rb_member *a = left, *b = right;
  if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
  size_t shared = a->key_length < b->key_length ? a->key_length : b->key_length;
  int order = shared > 8 ? memcmp(a->key + 8, b->key + 8, shared - 8) : 0;
  return order ? order : (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

void rb_rank_members(rb_vm *vm, size_t first) {
  rb_member *members = vm->members.all + first;
  uint32_t count = (uint32_t)(vm->members.count - first);
  if (count > FEW) {
    rb_enter_host(vm);
    qsort(members, count, sizeof *members, compare_members);
    rb_exit_host(vm);
    for (uint32_t i = 0; i < count; i++) members[i].ranked = i;
    return;
  }
  members[0].ranked = 0;
  for (uint32_t i = 1; i < count; i++) {
    const rb_member *moving = &members[i];
    uint32_t j = i;
    for (; j > 0; j--) {
      const rb_member *before = &members[members[j - 1].ranked];
      if (before->prefix < moving->prefix || (before->prefix == moving->prefix && compare_members(before, moving) <= 0)) break;
      members[j].ranked = members[j - 1].ranked;
    }
    members[j].ranked = i;
  }
}
