/*
 * Finds the last operation of an event on a name: a claimed once key, a timer, a decision, an effect with a key, a path that a rule read.
 *
 * Few operations are searched one by one. With more, a hash table holds the last operation on each name, so that the cost of an event stays
 * proportional to its operations. The table is filled on the first search; most events never need it.
 */
#include <stdlib.h>

#include "operations.h"

/* FEW: up to so many operations are searched one by one. */
enum { FEW = 32, LEAST_SLOTS = 256 };

/* Operations on the same name in different classes have nothing to do with each other. Each rule's reads are a class: CLASS_READ and its number. */
enum { CLASS_NONE, CLASS_DECISION, CLASS_ONCE, CLASS_TIMER, CLASS_EFFECT, CLASS_READ };
typedef unsigned op_class;

static inline op_class class_of(const rb_op *op) {
  switch ((rb_op_kind)op->kind) {
    case RB_OP_DECIDE: return CLASS_DECISION;
    case RB_OP_ONCE: return CLASS_ONCE;
    case RB_OP_TIMER_SET:
    case RB_OP_TIMER_CANCEL: return CLASS_TIMER;
    case RB_OP_EMIT: return op->flags & RB_OP_KEYED ? CLASS_EFFECT : CLASS_NONE;
    case RB_OP_READ: return CLASS_READ + op->rule;
    default: return CLASS_NONE;
  }
}

static inline rb_slice name_of(const rb_vm *vm, const rb_op *op) {
  bool is_effect = op->kind == RB_OP_EMIT;
  return (rb_slice){vm->op_bytes.bytes + (is_effect ? op->d : op->a), is_effect ? op->d_length : op->a_length};
}

static inline bool names(const rb_vm *vm, const rb_op *op, op_class class, rb_slice name) {
  if (class_of(op) != class) return false;
  rb_slice own = name_of(vm, op);
  return own.length == name.length && memcmp(own.bytes, name.bytes, name.length) == 0;
}

/* Seeded with the VM's address, so that no rule can choose names that collide. */
static uint64_t hash_of(const rb_vm *vm, op_class class, rb_slice name) {
  uint64_t hash = (uint64_t)(uintptr_t)vm * UINT64_C(0x9E3779B97F4A7C15) + class;
  for (size_t at = 0; at < name.length; at += 8) {
    uint64_t word = 0;
    memcpy(&word, name.bytes + at, name.length - at < 8 ? name.length - at : 8);
    hash = (hash ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 32;
  }
  return hash;
}

/* The slot of the name, or the empty slot where it belongs. A slot holds the operation's number plus one. */
static uint32_t *slot_of(const rb_vm *vm, op_class class, rb_slice name) {
  const rb_op_index *index = &vm->index;
  size_t slot = hash_of(vm, class, name) & (index->capacity - 1);
  while (index->slots[slot] && !names(vm, &vm->ops[index->slots[slot] - 1], class, name)) slot = (slot + 1) & (index->capacity - 1);
  return &index->slots[slot];
}

/* Grows the table to as many names as there are operations. */
static bool make_room(rb_vm *vm) {
  rb_op_index *index = &vm->index;
  if (index->capacity >= 2 * vm->op_count) return true;
  size_t wanted = index->capacity ? index->capacity : LEAST_SLOTS;
  while (wanted < 2 * vm->op_count) wanted *= 2;
  rb_enter_host(vm);
  uint32_t *slots = calloc(wanted, sizeof *slots);
  if (slots) {
    free(index->slots);
    *index = (rb_op_index){.slots = slots, .capacity = wanted};
  }
  rb_exit_host(vm);
  if (!slots && vm->running) rb_leave(vm, RB_MEMORY);
  return slots != NULL;
}

static void add(rb_vm *vm, size_t number) {
  op_class class = class_of(&vm->ops[number]);
  if (class != CLASS_NONE) *slot_of(vm, class, name_of(vm, &vm->ops[number])) = (uint32_t)number + 1;
}

void rb_clear_op_index(rb_vm *vm) {
  rb_op_index *index = &vm->index;
  if (index->done == 0) return;
  if (index->capacity > 4096) {
    free(index->slots);
    *index = (rb_op_index){0};
    return;
  }
  memset(index->slots, 0, index->capacity * sizeof *index->slots);
  index->done = 0;
}

/* The number plus one of the last operation on the name before `end`, 0 for none. The table must hold no later ones. */
static size_t find(rb_vm *vm, op_class class, rb_slice name, size_t end) {
  if (end > FEW && make_room(vm)) {
    while (vm->index.done < end) add(vm, vm->index.done++);
    return *slot_of(vm, class, name);
  }
  for (size_t number = end; number > 0; number--)
    if (names(vm, &vm->ops[number - 1], class, name)) return number;
  return 0;
}

static rb_slice text_at(lua_State *L, int index) {
  rb_slice text;
  text.bytes = lua_tolstring(L, index, &text.length);
  return text;
}

const rb_op *rb_find_decision(rb_vm *vm, rb_slice key) {
  size_t number = find(vm, CLASS_DECISION, key, vm->op_count);
  return number ? &vm->ops[number - 1] : NULL;
}

bool rb_has_read(rb_vm *vm, rb_slice path) { return find(vm, CLASS_READ + vm->current_rule, path, vm->op_count) != 0; }

rb_known rb_known_once(lua_State *L, int key) {
  rb_vm *vm = rb_vm_of(L);
  if (find(vm, CLASS_ONCE, text_at(L, key), vm->op_count) > vm->forgotten) return RB_KNOWN_SET;
  return vm->forgotten ? RB_KNOWN_UNSET : RB_UNKNOWN;
}

rb_known rb_known_timer(lua_State *L, int name, lua_Number *when) {
  rb_vm *vm = rb_vm_of(L);
  size_t number = find(vm, CLASS_TIMER, text_at(L, name), vm->op_count);
  if (number <= vm->forgotten) return vm->forgotten ? RB_KNOWN_UNSET : RB_UNKNOWN;
  const rb_op *op = &vm->ops[number - 1];
  *when = op->number;
  return op->kind == RB_OP_TIMER_SET ? RB_KNOWN_SET : RB_KNOWN_UNSET;
}

/* Marks the operation that the one at `number` undoes, or itself if it is an effect that repeats one after the last forget. */
static void collapse(rb_vm *vm, size_t number, size_t forgotten) {
  rb_op *op = &vm->ops[number];
  op_class class = class_of(op);
  if (class != CLASS_TIMER && class != CLASS_EFFECT) return;
  size_t earlier = find(vm, class, name_of(vm, op), number);
  if (class == CLASS_TIMER) {
    if (earlier) vm->ops[earlier - 1].flags |= RB_OP_VOID;
  } else if (earlier > forgotten) {
    op->flags |= RB_OP_VOID;
  } else if (forgotten) {
    op->flags |= RB_OP_FOLLOWS_FORGET;
  }
}

void rb_collapse_ops(rb_vm *vm) {
  rb_clear_op_index(vm);
  size_t forgotten = 0;
  for (size_t number = 0; number < vm->op_count; number++) {
    collapse(vm, number, forgotten);
    if (vm->ops[number].kind == RB_OP_FORGET) forgotten = number + 1;
  }
  for (size_t number = 0; number + 1 < forgotten; number++) {
    op_class class = class_of(&vm->ops[number]);
    if (class == CLASS_ONCE || class == CLASS_TIMER || vm->ops[number].kind == RB_OP_FORGET || vm->ops[number].kind == RB_OP_PLACE) vm->ops[number].flags |= RB_OP_VOID;
  }
}
