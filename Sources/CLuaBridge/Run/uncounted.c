/*
 * Running without counting instructions.
 *
 * A hook makes Lua check for it at every instruction, which doubles the cost of a rule. A plugin's first run on an event is therefore tried
 * without one. If it took less time than the budget's instructions need at least, it was within the budget and is valid. If it took all the
 * processor time that the budget allows, it is stopped for good: with the hook it would have taken more. Otherwise nothing is known: it is
 * discarded, and the event runs again with the hook, which alone decides.
 */
#include "vm.h"

/* An upper bound: no processor executes more than four Lua instructions in a nanosecond, as each takes several of its own and a jump. */
enum { PER_NANOSECOND = 4 };

/* 50 µs at that speed. Smaller budgets are always counted, as such a time may pass by itself. */
enum { LEAST_INSTRUCTIONS = 200000 };

static int64_t monotonic(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void rb_start_budget_uncounted(rb_vm *vm, const rb_budget *budget) {
  if (vm->limits.on_line || vm->cost.measuring || budget->instructions < LEAST_INSTRUCTIONS) {
    rb_start_budget(vm, budget);
    return;
  }
  rb_start_without_hook(vm, budget);
  /* Stopped by the second tick after the bound: all processor time between two ticks was used by this event. */
  int64_t bound = budget->instructions / PER_NANOSECOND / 1000000;
  if (bound < budget->milliseconds) vm->limits.deadline = vm->limits.begun + (uint32_t)(bound / RB_TICK_MS) + 2;
  vm->limits.stopped = RB_OK;
  vm->limits.uncounted = true;
  vm->limits.uncounted_since = monotonic();
}

bool rb_end_uncounted(rb_vm *vm) {
  if (!vm->limits.uncounted) return true;
  vm->limits.uncounted = false;
  if (vm->limits.stopped == RB_TIME) return (int32_t)(vm->limits.worker->acting->ticks - vm->limits.end) >= 0;
  if (vm->limits.stopped == RB_INSTRUCTIONS) return false;
  return (monotonic() - vm->limits.uncounted_since) * PER_NANOSECOND < vm->limits.instructions_left;
}
