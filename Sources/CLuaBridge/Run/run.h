#ifndef RB_RUN_H
#define RB_RUN_H
/* Memory, budgets and failures of a VM. vm.h has the inline functions. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>

#include "CLuaBridge.h"

/* Memory outside the arena, which outlives a dead VM --------------------------------------------------------------------------- */

/* A growable run of bytes. */
typedef struct {
  char *bytes;
  size_t length, capacity;
} rb_buffer;

/* Makes room for `extra` more bytes; stops the VM when there is no memory. */
void rb_grow(rb_vm *vm, rb_buffer *buffer, size_t extra);
void rb_set(rb_vm *vm, rb_buffer *buffer, const char *bytes, size_t length);
/* Empties a buffer, and frees the memory that only a large event needs. */
void rb_trim(rb_buffer *buffer);
/* Doubles the capacity of the array whose pointer is at `array`; from 0 it grows to `least`. `size` is of one element. */
void rb_grow_array(rb_vm *vm, void *array, size_t *capacity, size_t least, size_t size);

/* Up to so many bytes are kept from one event to the next. */
enum { RB_KEPT_BYTES = 1 << 20 };

/* Budgets: the cost of a call, and its stop --------------------------------------------------------------------------------- */

enum { RB_HOOK_COUNT = 1000, RB_COROUTINE_COUNT = 100, RB_BYTES_CHARGED = 8, RB_TICK_MS = 5 };

struct rb_worker {
  timer_t timer;
  volatile uint32_t ticks; /* of RB_TICK_MS of this thread's processor time */
  rb_vm *volatile current;
  rb_worker *acting; /* the worker whose thread runs the VMs: itself, or for a while another */
};

typedef struct {
  rb_worker *worker;
  /* The signal handler reads `running` and `in_host`. */
  sigjmp_buf *escape;
  volatile sig_atomic_t running;
  volatile sig_atomic_t in_host;
  volatile sig_atomic_t expired;
  volatile uint32_t deadline; /* in ticks of the worker */
  uint32_t begun, end;        /* the ticks at which the budget began, and at which its processor time ends */
  uint32_t ticks_left;        /* until the deadline, while the clock is stopped */
  bool dead;
  rb_status stopped; /* why it was stopped */
  bool uncounted;    /* instructions are not counted */
  int64_t uncounted_since; /* in nanoseconds of the monotonic clock */
  const char *stopped_source; /* where the hook stopped the rule; NULL if something else stopped it */
  int stopped_line;
  int64_t instructions_left;
  size_t memory, operations;
  /* Called for each line, and before each instruction; NULL for neither. Loading asks whether there is the first. */
  lua_Hook on_line, on_instruction;
} rb_limits;

_Noreturn void rb_leave(rb_vm *vm, rb_status status);
/* Stops the rule at the line that runs. */
_Noreturn void rb_stop(lua_State *L, rb_status status);
void rb_start_budget(rb_vm *vm, const rb_budget *budget);
void rb_start_without_hook(rb_vm *vm, const rb_budget *budget);
/* As rb_start_budget, but without counting instructions if time can show afterwards that they were within the budget. */
void rb_start_budget_uncounted(rb_vm *vm, const rb_budget *budget);
void rb_set_hook(rb_vm *vm);
/* From now on `hook` comes with each line. */
void rb_watch_lines(rb_vm *vm, lua_Hook hook);
/* In the events from now on, `hook` comes before each instruction; NULL for none. */
void rb_watch_instructions(rb_vm *vm, lua_Hook hook);
/* Takes instructions from the budget. */
void rb_take_instructions(rb_vm *vm, int64_t instructions);

/* Costs of rules --------------------------------------------------------------------------------------------------------------- */

enum { RB_COSTS = 256 };

typedef struct {
  bool on;        /* whether it is recorded */
  bool measuring; /* whether the instructions of this event are counted one by one */
  bool running;   /* whether the last rule has not ended */
  uint64_t mask;
  int64_t instructions; /* of this event so far; the evaluation reads it before a rule's `when` */
  int64_t begun;        /* how many there were when the last rule began */
  int unsettled;        /* how many are not yet taken from the budget */
  rb_cost rules[RB_COSTS];
  size_t count;
} rb_cost_record;

void rb_clear_costs(rb_vm *vm, uint64_t seed);
/* A rule runs; `begun` is how many instructions of the event had run before its `when`. */
void rb_begin_cost(rb_vm *vm, int rule, int64_t begun);
void rb_end_cost(rb_vm *vm);
/* Counts instructions of the event at hand. Returns whether the hook's share is to be taken from the budget now. */
bool rb_counts_for_budget(rb_vm *vm, bool coroutine, int instructions);

/* Failures --------------------------------------------------------------------------------------------------------------------- */

/* The last failure. The error that a host function raised last gives its kind. */
typedef struct {
  rb_kind kind;
  rb_buffer message, file;
  int line;
  rb_kind raised_kind;
  rb_buffer raised_message;
  rb_buffer compiling; /* the path of the file that is being compiled */
  /* Where a test failed: `file:line`, a tab, and the function's name if it has one, a line for each function that was called, the last one
     first. */
  rb_buffer place;
  rb_buffer here; /* the same of a test that calls the host */
  bool in_test;
  bool compared; /* whether the running test has called a comparison, which can fail it */
  bool keeps_place; /* the next error repeats an earlier one, with its place */
} rb_failures;

extern const char rb_null; /* address of json.null */

rb_status rb_protect(rb_vm *vm, lua_CFunction function, void *argument);
/* Raises an error of a kind. Does not return. */
int rb_raise(lua_State *L, rb_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Pushes the value at index as text without addresses. */
void rb_push_display(lua_State *L, int index);
/* Pushes the compiled text; raises if it does not compile. */
void rb_compile(lua_State *L, rb_slice text, rb_slice path);
void rb_forget_error(rb_vm *vm);
/* From now on, or no longer, notes where an error was raised: in the test's own files, and in those of its plugin. */
void rb_set_in_test(rb_vm *vm, bool in_test);
/* Notes the place of the running test; as a handler of errors, it leaves the error as it is. */
int rb_note_place(lua_State *L);
/* Notes that the running test has called a comparison. */
void rb_note_comparison(rb_vm *vm);
/* The next error has the place of the last one, or none. */
void rb_keep_place(rb_vm *vm, bool has_place);

#endif
