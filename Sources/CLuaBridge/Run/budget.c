/*
 * Stops a rule at its budget: by a hook that counts instructions, and by a timer of the thread's processor time, whose signal jumps out of the VM.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { TICK_SIGNAL_OFFSET = 4, COVERING_FACTOR = 6 };

/* Stopping --------------------------------------------------------------------------------------------------------------------- */

_Noreturn void rb_leave(rb_vm *vm, rb_status status) {
  vm->limits.running = 0;
  vm->limits.dead = true;
  siglongjmp(*vm->limits.escape, (int)status);
}

static void on_tick(int number, siginfo_t *information, void *machine) {
  (void)number;
  (void)machine;
  if (information->si_code != SI_TIMER) return;
  rb_worker *worker = information->si_value.sival_ptr;
  /* Merged ticks count once: after a pause of the host, a rule must not pay for time that it did not use. */
  worker->ticks = worker->ticks + 1;
  rb_vm *vm = worker->current;
  if (!vm || !vm->limits.running || (int32_t)(worker->ticks - vm->limits.deadline) < 0) return;
  /* While a plugin loads, the next hook stops it, as that knows the line. The next tick stops code that reaches no hook. */
  if (vm->limits.in_host || (vm->phase == RB_PHASE_LOAD && !vm->limits.expired)) {
    vm->limits.expired = 1;
  } else {
    rb_leave(vm, RB_TIME);
  }
}

static void install_tick_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGRTMIN + TICK_SIGNAL_OFFSET, &action, NULL);
}

/* Workers ---------------------------------------------------------------------------------------------------------------------- */

rb_worker *rb_worker_new(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_tick_handler);
  rb_worker *worker = calloc(1, sizeof *worker);
  if (!worker) return NULL;
  worker->acting = worker;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN + TICK_SIGNAL_OFFSET;
  event.sigev_value.sival_ptr = worker;
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &worker->timer) != 0) {
    free(worker);
    return NULL;
  }
  /* A pool may have started the thread with all signals blocked. */
  sigset_t ticks;
  sigemptyset(&ticks);
  sigaddset(&ticks, SIGRTMIN + TICK_SIGNAL_OFFSET);
  pthread_sigmask(SIG_UNBLOCK, &ticks, NULL);
  struct itimerspec interval = {.it_interval = {.tv_nsec = RB_TICK_MS * 1000000L}, .it_value = {.tv_nsec = RB_TICK_MS * 1000000L}};
  timer_settime(worker->timer, 0, &interval, NULL);
  return worker;
}

void rb_worker_run_on(rb_worker *worker, rb_worker *acting) { worker->acting = acting; }

void rb_worker_free(rb_worker *worker) {
  if (!worker) return;
  /* A tick may be pending: block the signal, delete the timer, and take pending signals before the memory is freed. */
  sigset_t ticks, before;
  sigemptyset(&ticks);
  sigaddset(&ticks, SIGRTMIN + TICK_SIGNAL_OFFSET);
  pthread_sigmask(SIG_BLOCK, &ticks, &before);
  timer_delete(worker->timer);
  struct timespec none = {0};
  while (sigtimedwait(&ticks, NULL, &none) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  free(worker);
}

/* The hook --------------------------------------------------------------------------------------------------------------------- */

/* Notes the position at which the rule is stopped. The name is in the arena, which is freed only after the failure was reported. */
static void note_stop(rb_vm *vm, const lua_Debug *frame) {
  vm->limits.stopped_source = frame->source + 1;
  vm->limits.stopped_line = frame->currentline > 0 ? frame->currentline : 0;
}

_Noreturn void rb_stop(lua_State *L, rb_status status) {
  rb_vm *vm = rb_vm_of(L);
  lua_Debug frame;
  for (int level = 0; !vm->limits.stopped_source && level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.source[0] == '@') note_stop(vm, &frame);
  }
  rb_leave(vm, status);
}

static void on_event(lua_State *L, lua_Debug *activation) {
  rb_vm *vm = rb_vm_of(L);
  if (activation->event == LUA_HOOKLINE) {
    vm->limits.on_line(L, activation);
    return;
  }
  bool coroutine = L != vm->L;
  if (vm->limits.on_instruction) {
    vm->limits.on_instruction(L, activation);
    vm->limits.instructions_left -= lua_gethookcount(L);
  } else {
    if (!rb_counts_for_budget(vm, coroutine, lua_gethookcount(L))) return;
    vm->limits.instructions_left -= coroutine ? RB_COROUTINE_COUNT : RB_HOOK_COUNT;
  }
  rb_status status = vm->limits.instructions_left < 0 ? RB_INSTRUCTIONS : vm->limits.expired ? RB_TIME : RB_OK;
  if (status == RB_OK) return;
  lua_getinfo(L, "Sl", activation);
  if (activation->source[0] == '@') note_stop(vm, activation);
  rb_leave(vm, status);
}

void rb_set_hook(rb_vm *vm) {
  int count = vm->cost.measuring || vm->limits.on_instruction ? 1 : RB_HOOK_COUNT;
  lua_sethook(vm->L, on_event, LUA_MASKCOUNT | (vm->limits.on_line ? LUA_MASKLINE : 0), count);
  vm->cost.unsettled = 0;
}

void rb_watch_lines(rb_vm *vm, lua_Hook hook) {
  vm->limits.on_line = hook;
  rb_set_hook(vm);
}

void rb_watch_instructions(rb_vm *vm, lua_Hook hook) { vm->limits.on_instruction = hook; }

void rb_take_instructions(rb_vm *vm, int64_t instructions) {
  vm->limits.instructions_left -= instructions;
  if (vm->limits.instructions_left < 0) rb_leave(vm, RB_INSTRUCTIONS);
}

/* Budgets ---------------------------------------------------------------------------------------------------------------------- */

/* Starts the budget, without counting instructions. */
static void grant(rb_vm *vm, const rb_budget *budget) {
  vm->limits.operations = (size_t)budget->operations;
  vm->limits.instructions_left = budget->instructions;
  vm->limits.memory = (size_t)budget->memory_bytes;
  vm->arena.limit = vm->arena.used + (size_t)budget->memory_bytes;
  if (vm->arena.limit > vm->arena.reserved) vm->arena.limit = vm->arena.reserved;
  /* Recording the lines takes several times as long as running them. */
  int milliseconds = vm->limits.on_line ? budget->milliseconds * COVERING_FACTOR : budget->milliseconds;
  vm->limits.begun = vm->limits.worker->acting->ticks;
  vm->limits.deadline = vm->limits.end = vm->limits.begun + (uint32_t)(milliseconds / RB_TICK_MS) + 1;
  vm->limits.expired = 0;
  vm->limits.uncounted = false;
}

void rb_start_without_hook(rb_vm *vm, const rb_budget *budget) {
  grant(vm, budget);
  lua_sethook(vm->L, NULL, 0, 0);
}

void rb_start_budget(rb_vm *vm, const rb_budget *budget) {
  grant(vm, budget);
  /* Restart the hook's count: otherwise the events before could decide whether an event close to its bound is stopped. */
  rb_set_hook(vm);
}

void rb_pause_time(rb_vm *vm) {
  uint32_t now = vm->limits.worker->acting->ticks;
  vm->limits.ticks_left = vm->limits.deadline - now;
  vm->limits.deadline = now + INT32_MAX;
}

void rb_resume_time(rb_vm *vm) { vm->limits.deadline = vm->limits.worker->acting->ticks + vm->limits.ticks_left; }

int64_t rb_instructions_left(const rb_vm *vm) { return vm->limits.instructions_left; }
bool rb_vm_dead(const rb_vm *vm) { return vm->limits.dead; }
bool rb_vm_expired(const rb_vm *vm) { return vm->limits.expired; }
int rb_vm_spent(const rb_vm *vm) { return (int)(vm->limits.worker->acting->ticks - vm->limits.begun) * RB_TICK_MS; }
void rb_vm_move(rb_vm *vm, rb_worker *worker) { vm->limits.worker = worker; }
