/* The record of an event: its operations, and the events that led to it. */
#include "vm.h"

void rb_clear_operations(rb_vm *vm, const rb_event *event) {
  rb_operations *operations = &vm->operations;
  operations->count = operations->reads = operations->forgotten = 0;
  rb_clear_op_index(vm);
  rb_trim(&operations->bytes);
  operations->now = event->now;
  operations->earliest_timer = event->earliest_timer;
  operations->depth = event->depth;
  operations->rule = 0;
  rb_set(vm, &operations->chain, event->chain.bytes, event->chain.length);
}

void rb_add_op(rb_vm *vm, rb_op_kind kind, rb_op op) {
  rb_operations *operations = &vm->operations;
  if (operations->count == operations->capacity) rb_grow_array(vm, &operations->all, &operations->capacity, 32, sizeof(rb_op));
  op.kind = (uint8_t)kind;
  op.rule = operations->rule;
  operations->all[operations->count++] = op;
}

void rb_add_text(rb_vm *vm, rb_slice text, uint32_t *at, uint32_t *length) {
  rb_buffer *bytes = &vm->operations.bytes;
  rb_copy(rb_reserve(vm, bytes, text.length), text.bytes, text.length);
  *at = (uint32_t)bytes->length;
  *length = (uint32_t)text.length;
  bytes->length += text.length;
}

const rb_op *rb_ops(const rb_vm *vm, size_t *count) {
  *count = vm->operations.count;
  return vm->operations.all;
}

const char *rb_op_bytes(const rb_vm *vm) { return vm->operations.bytes.bytes; }
size_t rb_recorded(const rb_vm *vm) { return vm->operations.reads; }

bool rb_raised_since(const rb_vm *vm, size_t first) {
  for (size_t i = first; i < vm->operations.count; i++)
    if (vm->operations.all[i].kind == RB_OP_RAISE) return true;
  return false;
}

void rb_enter_raised(rb_vm *vm, rb_slice type, const rb_slice *chain, int depth) {
  rb_operations *operations = &vm->operations;
  if (chain) {
    operations->depth = depth;
    rb_set(vm, &operations->chain, chain->bytes, chain->length);
  } else {
    operations->depth++;
    rb_append(vm, &operations->chain, " > ", 3);
    rb_append(vm, &operations->chain, type.bytes, type.length);
  }
}

void rb_leave_raised(rb_vm *vm) {
  rb_buffer *chain = &vm->operations.chain;
  vm->operations.depth--;
  size_t length = chain->length;
  while (length >= 3 && memcmp(chain->bytes + length - 3, " > ", 3) != 0) length--;
  chain->length = length >= 3 ? length - 3 : 0;
}
