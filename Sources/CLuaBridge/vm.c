#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CPattern.h"
#include "text.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { RESERVE_MIB = 256, BASE_MIB = 192, TICK_SIGNAL_OFFSET = 4, COVERING_FACTOR = 6 };

/* The budget of the bridge's own work. */
static const rb_budget unbounded = {.instructions = INT64_MAX / 2, .memory_bytes = (int64_t)BASE_MIB << 20, .milliseconds = 10000};

/* Stopping --------------------------------------------------------------------------------------------------------------------- */

_Noreturn void rb_leave(rb_vm *vm, rb_status status) {
  vm->running = 0;
  vm->dead = true;
  siglongjmp(*vm->escape, (int)status);
}

static void on_tick(int number, siginfo_t *information, void *machine) {
  (void)number;
  (void)machine;
  if (information->si_code != SI_TIMER) return;
  rb_worker *worker = information->si_value.sival_ptr;
  /* Merged ticks count once: after a pause of the host, a rule must not pay for time that it did not use. */
  worker->ticks = worker->ticks + 1;
  rb_vm *vm = worker->current;
  if (!vm || !vm->running || (int32_t)(worker->ticks - vm->deadline) < 0) return;
  /* While a plugin loads, the next hook stops it, as that knows the line. What reaches no hook is stopped by the next tick. */
  if (vm->in_host || (vm->phase == RB_PHASE_LOAD && !vm->expired)) {
    vm->expired = 1;
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

static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  rb_vm *vm = context;
  void *memory = rb_arena_resize(&vm->arena, block, block ? old_size : 0, new_size);
  /* Lua must not see an allocation fail while a rule runs: its emergency collection is unsafe in 5.4.4, and a rule could catch the error. */
  if (!memory && new_size && vm->running) rb_leave(vm, RB_MEMORY);
  return memory;
}

/* Notes the position at which the rule is stopped. The name is in the arena, which is freed only after the failure was reported. */
static void note_stop(rb_vm *vm, const lua_Debug *frame) {
  vm->stopped_source = frame->source + 1;
  vm->stopped_line = frame->currentline > 0 ? frame->currentline : 0;
}

_Noreturn void rb_stop(lua_State *L, rb_status status) {
  rb_vm *vm = rb_vm_of(L);
  lua_Debug frame;
  for (int level = 0; !vm->stopped_source && level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.source[0] == '@') note_stop(vm, &frame);
  }
  rb_leave(vm, status);
}

static void on_count(lua_State *L, lua_Debug *activation) {
  rb_vm *vm = rb_vm_of(L);
  if (activation->event == LUA_HOOKLINE) {
    rb_coverage_hook(L, activation);
    return;
  }
  bool coroutine = L != vm->L;
  if (vm->blaming) {
    rb_blame_hook(L, activation);
    vm->instructions_left -= lua_gethookcount(L);
  } else {
    if (!rb_counts_for_budget(vm, coroutine, lua_gethookcount(L))) return;
    vm->instructions_left -= coroutine ? RB_COROUTINE_COUNT : RB_HOOK_COUNT;
  }
  rb_status status = vm->instructions_left < 0 ? RB_INSTRUCTIONS : vm->expired ? RB_TIME : RB_OK;
  if (status == RB_OK) return;
  lua_getinfo(L, "Sl", activation);
  if (activation->source[0] == '@') note_stop(vm, activation);
  rb_leave(vm, status);
}

void rb_set_hook(rb_vm *vm) {
  lua_sethook(vm->L, on_count, LUA_MASKCOUNT | (vm->covering ? LUA_MASKLINE : 0), vm->cost.measuring || vm->blaming ? 1 : RB_HOOK_COUNT);
  vm->cost.unsettled = 0;
}

/* Starts the budget, without counting instructions. */
static void grant(rb_vm *vm, const rb_budget *budget) {
  vm->op_limit = (size_t)budget->operations;
  vm->instructions_left = budget->instructions;
  vm->memory_budget = (size_t)budget->memory_bytes;
  vm->arena.limit = vm->arena.used + (size_t)budget->memory_bytes;
  if (vm->arena.limit > vm->arena.reserved) vm->arena.limit = vm->arena.reserved;
  /* To record what runs takes several times as long as to run it. */
  int milliseconds = vm->covering ? budget->milliseconds * COVERING_FACTOR : budget->milliseconds;
  vm->begun = vm->worker->acting->ticks;
  vm->deadline = vm->end = vm->begun + (uint32_t)(milliseconds / RB_TICK_MS) + 1;
  vm->expired = 0;
  vm->uncounted = false;
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
  uint32_t now = vm->worker->acting->ticks;
  vm->ticks_left = vm->deadline - now;
  vm->deadline = now + INT32_MAX;
}

void rb_resume_time(rb_vm *vm) { vm->deadline = vm->worker->acting->ticks + vm->ticks_left; }

/* Failures --------------------------------------------------------------------------------------------------------------------- */

static void set_position(rb_vm *vm, const char *file, size_t length, int line) {
  rb_set(vm, &vm->failure_file, file, length);
  vm->failure_line = line;
}

/* Moves a leading `file:line: ` of a message to the failure's position. */
static const char *take_position(rb_vm *vm, const char *message, size_t *length) {
  const char *colon = memchr(message, ':', *length);
  while (colon) {
    const char *digit = colon + 1, *end = message + *length;
    int line = 0;
    while (digit < end && *digit >= '0' && *digit <= '9' && line < 100000000) line = line * 10 + (*digit++ - '0');
    if (digit > colon + 1 && digit + 1 < end && digit[0] == ':' && digit[1] == ' ') {
      if (memchr(message, ' ', (size_t)(colon - message))) return message;
      set_position(vm, message, (size_t)(colon - message), line);
      *length -= (size_t)(digit + 2 - message);
      return digit + 2;
    }
    colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
  }
  return message;
}

/* Replaces the failure's file with `path` if it is a shortened form of it. */
static bool take_whole(rb_vm *vm, const char *path, size_t length) {
  const rb_buffer *file = &vm->failure_file;
  size_t end = file->length - 3;
  if (length <= end || memcmp(path + length - end, file->bytes + 3, end) != 0) return false;
  rb_set(vm, &vm->failure_file, path, length);
  return true;
}

/* Lua shortens long paths in messages. Finds the whole path: of the file that is compiled, or of a function on the stack. */
static void complete_path(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->failure_file.length < 3 || memcmp(vm->failure_file.bytes, "...", 3) != 0) return;
  if (take_whole(vm, vm->compiling.bytes, vm->compiling.length)) return;
  lua_Debug frame;
  for (int level = 1; level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "S", &frame);
    if (frame.source[0] == '@' && take_whole(vm, frame.source + 1, frame.srclen - 1)) return;
  }
}

static int describe_error(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  vm->failure_kind = RB_KIND_ERROR;
  vm->failure_line = 0;
  rb_set(vm, &vm->failure_file, "", 0);
  size_t length = 0;
  const char *message;
  if (lua_type(L, 1) == LUA_TSTRING) {
    message = lua_tolstring(L, 1, &length);
    if (vm->raised_message.length == length && length > 0 && memcmp(vm->raised_message.bytes, message, length) == 0)
      vm->failure_kind = vm->raised_kind;
    if (length > 2048) length = 2048;
    message = take_position(vm, message, &length);
    complete_path(L);
  } else {
    rb_push_display(L, 1);
    lua_pushfstring(L, "an error that is no message: %s", lua_tostring(L, -1));
    message = lua_tolstring(L, -1, &length);
  }
  rb_set(vm, &vm->failure_message, message, length);
  if (vm->in_test) rb_note_place(L);
  lua_Debug frame;
  for (int level = 1; vm->failure_line == 0 && level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline > 0 && frame.source[0] == '@')
      set_position(vm, frame.source + 1, strlen(frame.source + 1), frame.currentline);
  }
  lua_settop(L, 1);
  return 1;
}

rb_failure rb_failure_of(const rb_vm *vm) {
  rb_failure failure = {.kind = vm->failure_kind,
                        .message = {vm->failure_message.bytes, vm->failure_message.length},
                        .file = {vm->failure_file.bytes, vm->failure_file.length},
                        .line = vm->failure_line};
  return failure;
}

static void describe_stop(rb_vm *vm, rb_status status) {
  const char *text;
  switch (status) {
    case RB_INSTRUCTIONS:
      vm->failure_kind = RB_KIND_INSTRUCTIONS;
      text = "stopped: more instructions than its budget allows";
      break;
    case RB_MEMORY:
      vm->failure_kind = RB_KIND_MEMORY;
      text = "stopped: more memory than its budget allows";
      break;
    default:
      vm->failure_kind = RB_KIND_TIME;
      text = "stopped: more processor time than its budget allows";
      break;
  }
  rb_set(vm, &vm->failure_message, text, strlen(text));
  const char *source = vm->stopped_source ? vm->stopped_source : "";
  rb_set(vm, &vm->failure_file, source, strlen(source));
  vm->failure_line = vm->stopped_source ? vm->stopped_line : 0;
}

int rb_raise(lua_State *L, rb_kind kind, const char *format, ...) {
  rb_vm *vm = rb_vm_of(L);
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  rb_enter_host(vm);
  int length = vsnprintf(text, sizeof text, format, arguments);
  rb_exit_host(vm);
  va_end(arguments);
  if (length < 0) length = 0;
  if ((size_t)length >= sizeof text) length = sizeof text - 1;
  luaL_where(L, 1);
  lua_pushlstring(L, text, (size_t)length);
  lua_concat(L, 2);
  size_t whole;
  const char *message = lua_tolstring(L, -1, &whole);
  vm->raised_kind = kind;
  rb_set(vm, &vm->raised_message, message, whole);
  return lua_error(L);
}

rb_status rb_protect(rb_vm *vm, lua_CFunction function, void *argument) {
  if (vm->dead) return RB_TIME;
  sigjmp_buf escape;
  rb_worker *worker = vm->worker->acting;
  rb_vm *outer = worker->current;
  sigjmp_buf *outer_escape = vm->escape;
  int top = lua_gettop(vm->L);
  int left = sigsetjmp(escape, 0);
  if (left != 0) {
    vm->running = 0;
    vm->in_host = 0;
    vm->escape = outer_escape;
    worker->current = outer;
    vm->stopped = (rb_status)left;
    describe_stop(vm, (rb_status)left);
    return (rb_status)left;
  }
  vm->failure_kind = RB_KIND_ERROR;
  vm->failure_message.length = vm->failure_file.length = 0;
  vm->failure_line = 0;
  vm->escape = &escape;
  worker->current = vm;
  vm->running = 1;
  lua_pushcfunction(vm->L, describe_error);
  lua_pushcfunction(vm->L, function);
  lua_pushlightuserdata(vm->L, argument);
  int status = lua_pcall(vm->L, 1, 0, top + 1);
  vm->running = 0;
  lua_settop(vm->L, top);
  vm->escape = outer_escape;
  worker->current = outer;
  if (status == LUA_OK) return RB_OK;
  if (status == LUA_ERRERR && vm->failure_message.length == 0)
    rb_set(vm, &vm->failure_message, "an error within the handling of an error", 40);
  return RB_FAILED;
}

/* Buffers outside the arena ---------------------------------------------------------------------------------------------------- */

void rb_grow(rb_vm *vm, rb_buffer *buffer, size_t extra) {
  if (vm->running && buffer->length + extra > vm->memory_budget) rb_leave(vm, RB_MEMORY);
  size_t wanted = buffer->capacity * 2 > buffer->length + extra ? buffer->capacity * 2 : buffer->length + extra + 64;
  rb_enter_host(vm);
  char *bytes = realloc(buffer->bytes, wanted);
  if (bytes) {
    buffer->bytes = bytes;
    buffer->capacity = wanted;
  }
  rb_exit_host(vm);
  if (!bytes) {
    if (vm->running) rb_leave(vm, RB_MEMORY);
    abort();
  }
}

void rb_set(rb_vm *vm, rb_buffer *buffer, const char *bytes, size_t length) {
  buffer->length = 0;
  rb_append(vm, buffer, bytes, length);
}

void rb_grow_array(rb_vm *vm, void *array, size_t *capacity, size_t least, size_t size) {
  size_t wanted = *capacity ? *capacity * 2 : least;
  if (wanted * size > vm->memory_budget) rb_leave(vm, RB_MEMORY);
  rb_enter_host(vm);
  void *elements;
  memcpy(&elements, array, sizeof elements);
  elements = realloc(elements, wanted * size);
  if (elements) {
    memcpy(array, &elements, sizeof elements);
    *capacity = wanted;
  }
  rb_exit_host(vm);
  if (!elements) rb_leave(vm, RB_MEMORY);
}

rb_op *rb_add_op(rb_vm *vm, rb_op_kind kind) {
  if (vm->op_count == vm->op_capacity) rb_grow_array(vm, &vm->ops, &vm->op_capacity, 32, sizeof(rb_op));
  rb_op *op = &vm->ops[vm->op_count++];
  memset(op, 0, sizeof *op);
  op->kind = (uint8_t)kind;
  op->rule = vm->current_rule;
  return op;
}

uint32_t rb_op_copy(rb_vm *vm, const char *bytes, size_t length) {
  size_t at = vm->op_bytes.length;
  rb_copy(rb_reserve(vm, &vm->op_bytes, length), bytes, length);
  vm->op_bytes.length += length;
  return (uint32_t)at;
}

/* Life ------------------------------------------------------------------------------------------------------------------------- */

static int open_body(lua_State *L) {
  rb_open_sandbox(L);
  rb_open_event(L);
  rb_open_host(L);
  rb_open_declarations(L);
  return 0;
}

static int panic(lua_State *L) {
  (void)L;
  abort();
}

rb_vm *rb_vm_new(rb_worker *worker, const rb_host *host, void *context) {
  rb_vm *vm = calloc(1, sizeof *vm);
  if (!vm) return NULL;
  vm->worker = worker;
  if (host) vm->host = *host;
  vm->context = context;
  vm->scratch = cj_new();
  if (!vm->scratch || !rb_arena_open(&vm->arena, (size_t)RESERVE_MIB << 20)) {
    rb_vm_free(vm);
    return NULL;
  }
  vm->L = lua_newstate(allocate, vm);
  if (!vm->L) {
    rb_vm_free(vm);
    return NULL;
  }
  *(rb_vm **)lua_getextraspace(vm->L) = vm;
  lua_atpanic(vm->L, panic);
  rb_find_call_counter(vm->L);
  rb_start_budget(vm, &unbounded);
  rb_seed_random(vm, 0);
  if (rb_protect(vm, open_body, NULL) != RB_OK) {
    rb_vm_free(vm);
    return NULL;
  }
  return vm;
}

void rb_vm_free(rb_vm *vm) {
  if (!vm) return;
  rb_arena_close(&vm->arena);
  rb_coverage_free(vm);
  if (vm->scratch) cj_free(vm->scratch);
  if (vm->patterns) cp_cache_free(vm->patterns);
  free(vm->chain.bytes);
  free(vm->result.bytes);
  free(vm->op_bytes.bytes);
  free(vm->ops);
  free(vm->index.slots);
  free(vm->failure_message.bytes);
  free(vm->failure_file.bytes);
  free(vm->raised_message.bytes);
  free(vm->place.bytes);
  free(vm->here.bytes);
  free(vm->members);
  free(vm->tokens);
  free(vm->scratch_text.bytes);
  free(vm->compiling.bytes);
  free(vm->dump.bytes);
  free(vm->bad_keys.bytes);
  free(vm->fit);
  free(vm);
}

void rb_vm_move(rb_vm *vm, rb_worker *worker) { vm->worker = worker; }

void rb_vm_set_context(rb_vm *vm, void *context) { vm->context = context; }

void rb_vm_set_checking(rb_vm *vm, bool checking) { vm->checks_data = checking; }

bool rb_vm_dead(const rb_vm *vm) { return vm->dead; }
size_t rb_vm_memory(const rb_vm *vm) { return vm->arena.used; }
bool rb_vm_expired(const rb_vm *vm) { return vm->expired; }
int rb_vm_spent(const rb_vm *vm) { return (int)(vm->worker->acting->ticks - vm->begun) * RB_TICK_MS; }

rb_slice rb_result(const rb_vm *vm) {
  rb_slice slice = {vm->result.bytes, vm->result.length};
  return slice;
}

const rb_op *rb_ops(const rb_vm *vm, size_t *count) {
  *count = vm->op_count;
  return vm->ops;
}

const char *rb_op_bytes(const rb_vm *vm) { return vm->op_bytes.bytes; }
