/*
 * Finds the last operation of an event on a name: a claimed once key, a timer, a topic, a decision, an effect with a key, a path that a rule read.
 *
 * Few operations are searched one by one. With more, a hash table holds the last operation on each name, so that the cost of an event stays
 * proportional to its operations. The table is filled on the first search; most events never need it.
 */
#include <stdlib.h>

#include "vm.h"

/* FEW: up to so many operations are searched one by one. */
enum { FEW = 32, LEAST_SLOTS = 256 };

/* Operations on the same name in different classes have nothing to do with each other. Each rule's reads are a class: CLASS_READ and its number. */
enum { CLASS_NONE, CLASS_DECISION, CLASS_ONCE, CLASS_TIMER, CLASS_TOPIC, CLASS_EFFECT, CLASS_READ };
typedef unsigned op_class;

static inline op_class class_of(const rb_op *op) {
  switch ((rb_op_kind)op->kind) {
    case RB_OP_DECIDE: return CLASS_DECISION;
    case RB_OP_ONCE: return CLASS_ONCE;
    case RB_OP_TIMER_SET:
    case RB_OP_TIMER_CANCEL: return CLASS_TIMER;
    case RB_OP_TOPIC_JOIN:
    case RB_OP_TOPIC_LEAVE: return CLASS_TOPIC;
    case RB_OP_EMIT: return op->flags & RB_OP_KEYED ? CLASS_EFFECT : CLASS_NONE;
    case RB_OP_READ: return CLASS_READ + op->rule;
    default: return CLASS_NONE;
  }
}

static inline rb_slice name_of(const rb_vm *vm, const rb_op *op) {
  bool is_effect = op->kind == RB_OP_EMIT;
  return (rb_slice){vm->operations.bytes.bytes + (is_effect ? op->d : op->a), is_effect ? op->d_length : op->a_length};
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

void rb_vm_check_no_type(rb_vm *vm) { memset(vm->operations.checked, 0, sizeof vm->operations.checked); }

void rb_vm_check_type(rb_vm *vm, rb_slice type) {
  uint64_t hash = hash_of(vm, CLASS_NONE, type);
  vm->operations.checked[hash >> 60] |= UINT64_C(1) << (hash & 63);
}

bool rb_may_be_checked(const rb_vm *vm, rb_slice type) {
  uint64_t hash = hash_of(vm, CLASS_NONE, type);
  return vm->operations.checked[hash >> 60] >> (hash & 63) & 1;
}

/* The slot of the name, or the empty slot where it belongs. A slot holds the operation's number plus one. */
static uint32_t *slot_of(const rb_vm *vm, op_class class, rb_slice name) {
  const rb_op_index *index = &vm->operations.index;
  size_t slot = hash_of(vm, class, name) & (index->capacity - 1);
  while (index->slots[slot] && !names(vm, &vm->operations.all[index->slots[slot] - 1], class, name)) slot = (slot + 1) & (index->capacity - 1);
  return &index->slots[slot];
}

/* Grows the table to as many names as there are operations. */
static bool make_room(rb_vm *vm) {
  rb_op_index *index = &vm->operations.index;
  if (index->capacity >= 2 * vm->operations.count) return true;
  size_t wanted = index->capacity ? index->capacity : LEAST_SLOTS;
  while (wanted < 2 * vm->operations.count) wanted *= 2;
  rb_enter_host(vm);
  uint32_t *slots = calloc(wanted, sizeof *slots);
  if (slots) {
    free(index->slots);
    *index = (rb_op_index){.slots = slots, .capacity = wanted};
  }
  rb_exit_host(vm);
  if (!slots && vm->limits.running) rb_leave(vm, RB_MEMORY);
  return slots != NULL;
}

static void add(rb_vm *vm, size_t number) {
  op_class class = class_of(&vm->operations.all[number]);
  if (class != CLASS_NONE) *slot_of(vm, class, name_of(vm, &vm->operations.all[number])) = (uint32_t)number + 1;
}

void rb_clear_op_index(rb_vm *vm) {
  rb_op_index *index = &vm->operations.index;
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
    while (vm->operations.index.done < end) add(vm, vm->operations.index.done++);
    return *slot_of(vm, class, name);
  }
  for (size_t number = end; number > 0; number--)
    if (names(vm, &vm->operations.all[number - 1], class, name)) return number;
  return 0;
}

const rb_op *rb_find_decision(rb_vm *vm, rb_slice key) {
  size_t number = find(vm, CLASS_DECISION, key, vm->operations.count);
  return number ? &vm->operations.all[number - 1] : NULL;
}

bool rb_has_read(rb_vm *vm, rb_slice path) { return find(vm, CLASS_READ + vm->operations.rule, path, vm->operations.count) != 0; }

rb_known rb_known_once(lua_State *L, int key) {
  rb_vm *vm = rb_vm_of(L);
  if (find(vm, CLASS_ONCE, rb_text_at(L, key), vm->operations.count) > vm->operations.forgotten) return RB_KNOWN_SET;
  return vm->operations.forgotten ? RB_KNOWN_UNSET : RB_UNKNOWN;
}

rb_known rb_known_timer(lua_State *L, int name, lua_Number *when) {
  rb_vm *vm = rb_vm_of(L);
  size_t number = find(vm, CLASS_TIMER, rb_text_at(L, name), vm->operations.count);
  if (number <= vm->operations.forgotten) return vm->operations.forgotten ? RB_KNOWN_UNSET : RB_UNKNOWN;
  const rb_op *op = &vm->operations.all[number - 1];
  *when = op->number;
  return op->kind == RB_OP_TIMER_SET ? RB_KNOWN_SET : RB_KNOWN_UNSET;
}

rb_known rb_known_topic(lua_State *L, int name) {
  rb_vm *vm = rb_vm_of(L);
  size_t number = find(vm, CLASS_TOPIC, rb_text_at(L, name), vm->operations.count);
  if (number <= vm->operations.forgotten) return vm->operations.forgotten ? RB_KNOWN_UNSET : RB_UNKNOWN;
  return vm->operations.all[number - 1].kind == RB_OP_TOPIC_JOIN ? RB_KNOWN_SET : RB_KNOWN_UNSET;
}

/* Marks the operation that the one at `number` undoes, or itself if it is an effect that repeats one after the last forget. */
static void collapse(rb_vm *vm, size_t number, size_t forgotten) {
  rb_op *op = &vm->operations.all[number];
  op_class class = class_of(op);
  if (class != CLASS_TIMER && class != CLASS_TOPIC && class != CLASS_EFFECT) return;
  size_t earlier = find(vm, class, name_of(vm, op), number);
  if (class != CLASS_EFFECT) {
    if (earlier) vm->operations.all[earlier - 1].flags |= RB_OP_VOID;
  } else if (earlier > forgotten) {
    op->flags |= RB_OP_VOID;
  } else if (forgotten) {
    op->flags |= RB_OP_FOLLOWS_FORGET;
  }
}

void rb_collapse_ops(rb_vm *vm) {
  rb_clear_op_index(vm);
  size_t forgotten = 0;
  for (size_t number = 0; number < vm->operations.count; number++) {
    collapse(vm, number, forgotten);
    if (vm->operations.all[number].kind == RB_OP_FORGET) forgotten = number + 1;
  }
  for (size_t number = 0; number + 1 < forgotten; number++) {
    op_class class = class_of(&vm->operations.all[number]);
    if (class == CLASS_ONCE || class == CLASS_TIMER || class == CLASS_TOPIC || vm->operations.all[number].kind == RB_OP_FORGET ||
        vm->operations.all[number].kind == RB_OP_PLACE)
      vm->operations.all[number].flags |= RB_OP_VOID;
  }
}
