/*
 * Running without counting first.
 *
 * Any hook makes Lua look up from every instruction, which doubles what a rule costs. An event's first show is therefore attempted
 * without one, by the clock: an attempt that was so short that the budget's instructions can't have fitted stands as it is, with
 * whatever it came to. Any other proves nothing; it is thrown away and the same show runs again with the count, which alone decides.
 */
#include "bridge.h"

/* No processor gets through more than four of Lua's instructions in a nanosecond, each being several of its own and a jump. */
enum { PER_NANOSECOND = 4 };

/* Less than this, 50 µs, may pass by itself while nothing is wrong. */
enum { LEAST_INSTRUCTIONS = 200000 };

static int64_t monotonic(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void rb_start_attempt(rb_vm *vm, const rb_budget *budget) {
  if (vm->covering || budget->instructions < LEAST_INSTRUCTIONS) {
    rb_start_budget(vm, budget);
    return;
  }
  rb_start_uncounted(vm, budget);
  /* Left by the second tick behind the bound: between two ticks lies processor time that this attempt used itself. */
  int64_t bound = budget->instructions / PER_NANOSECOND / 1000000;
  if (bound < budget->milliseconds) vm->deadline = vm->worker->acting->ticks + (uint32_t)(bound / RB_TICK_MS) + 2;
  vm->stopped = RB_OK;
  vm->attempting = true;
  vm->attempt_began = monotonic();
}

bool rb_settle(rb_vm *vm) {
  if (!vm->attempting) return true;
  vm->attempting = false;
  if (vm->stopped == RB_TIME || vm->stopped == RB_INSTRUCTIONS) return false;
  return (monotonic() - vm->attempt_began) * PER_NANOSECOND < vm->instructions_left;
}
