/*
 * The rules that ran on an event, and the instructions that each took: for replays, which compare rules.
 *
 * The hook that stops a rule comes every RB_HOOK_COUNT instructions, which is more than most rules take. While an event is measured, it comes at
 * each instruction, and only every RB_HOOK_COUNT-th time takes them from the budget: so a rule is stopped where it would be otherwise.
 */
#include "vm.h"

void rb_record_costs(rb_vm *vm, uint64_t mask) {
  vm->cost.on = true;
  vm->cost.mask = mask;
}

void rb_clear_costs(rb_vm *vm, uint64_t seed) {
  vm->cost.measuring = vm->cost.on && (seed & vm->cost.mask) == 0;
  vm->cost.running = false;
  vm->cost.count = 0;
  vm->cost.instructions = 0;
}

void rb_begin_cost(rb_vm *vm, int rule, int64_t begun) {
  if (!vm->cost.on || vm->cost.count == RB_COSTS) return;
  vm->cost.rules[vm->cost.count++] = (rb_cost){.rule = rule, .instructions = -1};
  vm->cost.begun = begun;
  vm->cost.running = true;
}

void rb_end_cost(rb_vm *vm) {
  if (!vm->cost.running) return;
  vm->cost.running = false;
  if (vm->cost.measuring) vm->cost.rules[vm->cost.count - 1].instructions = vm->cost.instructions - vm->cost.begun;
}

bool rb_counts_for_budget(rb_vm *vm, bool coroutine, int instructions) {
  if (!vm->cost.measuring) return true;
  vm->cost.instructions += instructions;
  if (coroutine) return true;
  vm->cost.unsettled += instructions;
  if (vm->cost.unsettled < RB_HOOK_COUNT) return false;
  vm->cost.unsettled = 0;
  return true;
}

const rb_cost *rb_costs(rb_vm *vm, size_t *count) {
  rb_end_cost(vm);
  *count = vm->cost.count;
  return vm->cost.rules;
}
