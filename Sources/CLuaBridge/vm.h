#ifndef RB_VM_H
#define RB_VM_H
/*
 * A VM is made of parts. Each folder is a subsystem: its header has the types of its parts, which its files alone change. Where a call would
 * cost too much, others do so, and the member's comment names them. A header includes those of the subsystems below.
 */
#include "Evaluation/evaluation.h"
#include "Run/arena.h"
#include "Testing/testing.h"

/* What the VM is doing; host functions refuse to be called in the wrong phase. */
typedef enum { RB_PHASE_IDLE = 0, RB_PHASE_LOAD, RB_PHASE_EVENT, RB_PHASE_READ, RB_PHASE_HANDLER, RB_PHASE_STEP } rb_phase;

struct rb_vm {
  lua_State *L;
  rb_host host;
  void *context;
  rb_phase phase;
  rb_buffer result;  /* the texts that Swift reads and that functions return */
  rb_buffer scratch; /* for one function's own use */

  rb_arena arena;
  rb_limits limits;
  rb_cost_record cost;
  rb_failures failure;
  rb_proxies proxies;
  rb_members members;
  rb_encoding encoding;
  rb_decoding decoding;
  rb_fit fit;
  rb_functions functions;
  rb_operations operations;
  rb_declared declared;
  rb_current current;
  rb_blame blame;
  rb_coverage coverage;
};

static inline rb_vm *rb_vm_of(lua_State *L) { return *(rb_vm **)lua_getextraspace(L); }

/* Encloses code out of which no signal may jump: malloc, C++, the host. */
static inline void rb_enter_host(rb_vm *vm) { vm->limits.in_host++; }
static inline void rb_exit_host(rb_vm *vm) {
  if (--vm->limits.in_host == 0 && vm->limits.expired && vm->limits.running) rb_leave(vm, RB_TIME);
}

/* Charges a host function's work on so many bytes, before it begins: an instruction for each RB_BYTES_CHARGED. */
static inline void rb_charge(lua_State *L, size_t bytes) {
  rb_vm *vm = rb_vm_of(L);
  vm->limits.instructions_left -= (int64_t)(bytes / RB_BYTES_CHARGED);
  if (vm->limits.instructions_left < 0) rb_stop(L, RB_INSTRUCTIONS);
}

/* Returns where `length` more bytes can be written. */
static inline char *rb_reserve(rb_vm *vm, rb_buffer *buffer, size_t length) {
  if (buffer->capacity - buffer->length < length) rb_grow(vm, buffer, length);
  return buffer->bytes + buffer->length;
}
static inline void rb_append(rb_vm *vm, rb_buffer *buffer, const char *bytes, size_t length) {
  char *into = rb_reserve(vm, buffer, length);
  if (length) memcpy(into, bytes, length);
  buffer->length += length;
}

#endif
