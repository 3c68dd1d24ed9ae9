#ifndef RB_BRIDGE_H
#define RB_BRIDGE_H
/* Shared by the bridge's own files; hidden from Swift. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "CLuaBridge.h"
#include "arena.h"
#include "registry.h"

/* A growable run of bytes outside the arena; it outlives a dead VM. */
typedef struct {
  char *bytes;
  size_t length, capacity;
} rb_buffer;

enum { RB_ZONES = 4 };

/* A time zone's offset from UTC in seconds, and from when until when it applies; length 0 for an empty entry. */
typedef struct {
  size_t length;
  char name[64];
  int64_t offset, from, until;
} rb_zone;

enum { RB_COSTS = 256 };
enum { RB_DEPTH = 64, RB_HOOK_COUNT = 1000, RB_COROUTINE_COUNT = 100, RB_BYTES_CHARGED = 8 };

struct rb_worker {
  timer_t timer;
  volatile uint32_t ticks; /* of RB_TICK_MS of this thread's processor time */
  rb_vm *volatile current;
  rb_worker *acting; /* the worker whose thread runs the VMs: itself, or for a while another */
};

enum { RB_TICK_MS = 5 };

/* What the VM is doing; host functions refuse to be called in the wrong phase. */
typedef enum { RB_PHASE_IDLE = 0, RB_PHASE_LOAD, RB_PHASE_EVENT, RB_PHASE_READ, RB_PHASE_STEP } rb_phase;

/* A step on the way to a value in the state that can't be stored; its key is in `bad_keys`. */
typedef struct {
  bool is_key;
  size_t key, key_length;
  lua_Integer index;
} rb_bad_step;

/* A part of the state's shape; its name is a string of RB_SLOT_FIT. */
typedef struct {
  const char *name;
  size_t name_length;
  uint32_t end; /* the index after its own parts */
  rb_fit_type type;
  bool optional;
} rb_fit_node;

/* In what way a state does not fit. */
typedef enum { RB_MISFIT_NONE = 0, RB_MISFIT_TYPE, RB_MISFIT_MISSING, RB_MISFIT_UNKNOWN } rb_misfit;

typedef struct {
  rb_buffer source; /* the chunk's name */
  uint64_t *runs;
  int lines;
} rb_covered;

/* The last operation on each name, by hash; holds the first `done` operations. */
typedef struct {
  uint32_t *slots;
  size_t capacity, done;
} rb_op_index;

/* Which rules ran on the current event, and what they cost. */
typedef struct {
  bool on;        /* whether it is recorded */
  bool measuring; /* whether the instructions of this event are counted one by one */
  bool running;   /* whether the last rule has not ended */
  uint64_t mask;
  int64_t instructions; /* of this event so far */
  int64_t begun;        /* how many there were when the last rule began */
  int unsettled;        /* how many are not yet taken from the budget */
  rb_cost rules[RB_COSTS];
  size_t count;
} rb_cost_record;

struct rb_vm {
  lua_State *L;
  rb_arena arena;
  rb_worker *worker;
  rb_host host;
  void *context;

  /* Stopping. The signal handler reads `running` and `in_host`. */
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

  rb_phase phase;
  int64_t instructions_left;
  rb_cost_record cost; /* of the rules of the current event */
  size_t memory_budget;

  /* The current event. */
  double now, earliest_timer;
  uint64_t random[4];
  uint16_t current_rule;
  int depth; /* of raised events, over all plugins */
  int level; /* of raised events, within this VM */
  rb_buffer chain;
  const void *array; /* the arrays' metatable */
  lua_Integer store_key; /* key of a proxy's store in its metatable: a number, as that is found faster than an address; no rule can guess it */
  rb_event event;
  unsigned event_fields;     /* the fields that are set in its store */
  const void *event_store;   /* its store while fields are missing in it, else NULL */
  bool explain, extended;
  bool checks_data; /* the host checks the data of events that rules make */
  rb_zone zones[RB_ZONES];
  unsigned next_zone;
  struct cp_cache *patterns; /* NULL until a rule uses one */

  /* Results. */
  rb_buffer result;
  rb_buffer op_bytes;
  rb_op *ops;
  size_t op_count, op_capacity;
  size_t op_limit;  /* of operations but for reads */
  size_t reads;     /* how many operations are reads */
  size_t forgotten; /* the number of the last RB_OP_FORGET plus one, 0 for none */
  rb_op_index index;

  /* The last failure. The error that a host function raised last gives its kind. */
  rb_kind failure_kind;
  rb_buffer failure_message, failure_file;
  int failure_line;
  rb_kind raised_kind;
  rb_buffer raised_message;
  /* Where a test failed: `file:line`, a tab, and the function's name if it has one, a line for each function that was called, the last one
     first. */
  rb_buffer place;
  rb_buffer here; /* the same of a test that calls the host */
  bool in_test;
  bool keeps_place; /* the next error says again what an earlier one said, whose place it was */

  /* Encoding and decoding. */
  rb_member *members;
  size_t member_count, member_capacity;
  rb_label labels[RB_LABELS];
  rb_shape shape;
  rb_step path[RB_DEPTH + 2];
  rb_slice decision; /* the key of the decision that is being encoded, for messages */
  rb_token *tokens;
  size_t token_count, token_capacity;
  rb_name names[RB_NAMES];
  cj_doc *scratch; /* for JSON texts */
  rb_buffer scratch_text;
  rb_buffer compiling; /* the path of the file that is being compiled */
  rb_buffer dump; /* of a compiled function */

  /* The shape of the state; no parts for none. */
  rb_fit_node *fit;
  uint32_t fit_count;
  bool fit_closed;
  rb_misfit misfit; /* how the last state that was encoded does not fit, if that is what is wrong with it */
  uint32_t misfit_part;

  int rule_count, when_count, query_count, web_count, sink_count, test_count;
  /* Finding the line that put a value into the state that can't be stored. */
  bool blaming;
  rb_bad_step bad_steps[RB_DEPTH + 2];
  int bad_depth;
  rb_buffer bad_keys;
  const char *last_source, *blamed_source; /* of the last instruction, and of the one that is to blame */
  int last_line, blamed_line, blamed_rule;
  bool was_bad; /* whether the value was there at the last instruction */

  bool covering;
  rb_covered *covered;
  size_t covered_count;
  const char *covered_last; /* the source of covered_index */
  size_t covered_index;
};

/* Keys in proxies' metatables. */
extern const char rb_key_tracked; /* the store of a proxy that records reads; other proxies have theirs at the VM's store_key */
extern const char rb_key_frozen;  /* true: the proxy can't be written */
extern const char rb_null;        /* address of json.null */

/* What a plugin file may hold, and a little more, for a mutation of it. */
enum { RB_SOURCE_LIMIT = 256 * 1024 + 64, RB_VALUE_LIMIT = 1024 * 1024 };

static inline rb_vm *rb_vm_of(lua_State *L) { return *(rb_vm **)lua_getextraspace(L); }

/* vm.c */
_Noreturn void rb_leave(rb_vm *vm, rb_status status);
rb_status rb_protect(rb_vm *vm, lua_CFunction function, void *argument);
void rb_start_budget(rb_vm *vm, const rb_budget *budget);
void rb_start_without_hook(rb_vm *vm, const rb_budget *budget);
void rb_set_hook(rb_vm *vm);
/* Stops the rule at the line that runs. */
_Noreturn void rb_stop(lua_State *L, rb_status status);
/* Charges a host function's work on so many bytes, before it begins: an instruction for each RB_BYTES_CHARGED. */
static inline void rb_charge(lua_State *L, size_t bytes) {
  rb_vm *vm = rb_vm_of(L);
  vm->instructions_left -= (int64_t)(bytes / RB_BYTES_CHARGED);
  if (vm->instructions_left < 0) rb_stop(L, RB_INSTRUCTIONS);
}
/* uncounted.c */
/* As rb_start_budget, but without counting instructions if time can show afterwards that they were within the budget. */
void rb_start_budget_uncounted(rb_vm *vm, const rb_budget *budget);
/* vm.c */
/* Raises an error of a kind. Does not return. */
int rb_raise(lua_State *L, rb_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Encloses code out of which no signal may jump: malloc, C++, the host. */
static inline void rb_enter_host(rb_vm *vm) { vm->in_host++; }
static inline void rb_exit_host(rb_vm *vm) {
  if (--vm->in_host == 0 && vm->expired && vm->running) rb_leave(vm, RB_TIME);
}
/* Grows a buffer; stops the VM when there is no memory. */
void rb_grow(rb_vm *vm, rb_buffer *buffer, size_t extra);
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
void rb_set(rb_vm *vm, rb_buffer *buffer, const char *bytes, size_t length);
/* Doubles the capacity of the array whose pointer is at `array`; from 0 it grows to `least`. `size` is of one element. */
void rb_grow_array(rb_vm *vm, void *array, size_t *capacity, size_t least, size_t size);
rb_op *rb_add_op(rb_vm *vm, rb_op_kind kind);
/* index.c */
void rb_clear_op_index(rb_vm *vm);
/* Whether the current rule has read that path of the state on this event. */
bool rb_has_read(rb_vm *vm, rb_slice path);
/* vm.c */
/* Appends bytes to the operations' bytes; returns their offset. */
uint32_t rb_op_copy(rb_vm *vm, const char *bytes, size_t length);

/* Pushes a member of the table at index without metamethods; returns its type. */
static inline int rb_push_member(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  lua_pushstring(L, name);
  return lua_rawget(L, index);
}

/* proxy.c */
void rb_open_proxies(lua_State *L);
/* Replaces the table on top with a frozen proxy of it. */
void rb_push_frozen(lua_State *L);
/* Pushes a proxy without a store; rb_retarget sets it. */
void rb_push_empty_proxy(lua_State *L);
void rb_retarget(lua_State *L, int proxy, int store);
/* If the value at index is a proxy, pushes its store and returns true. */
bool rb_push_store(lua_State *L, int index);
bool rb_is_frozen(lua_State *L, int index);
/* Whether the table at index has the arrays' metatable. */
bool rb_is_array(lua_State *L, int index);
void rb_mark_array(lua_State *L, int index);
/* Pushes a proxy that records what is read through it. */
void rb_push_tracked(lua_State *L, int store, const char *path);
/* event.c */
void rb_open_event(lua_State *L);
/* Puts the event's proxy into its slot. Its fields are made when a rule first reads them, or by rb_fill_event. */
void rb_make_event(lua_State *L, const rb_event *event);
/* Makes all fields of the event, or all but type and data, whose text may be gone. */
void rb_fill_event(lua_State *L, bool whole);
/* Pushes an event's data, frozen. */
void rb_push_data(lua_State *L, rb_json json, size_t data);
/* seal.c */
int rb_seal_body(lua_State *L);

/* encode.c */
/* The root of a decision's value. Messages add the key, so that no text is built for each decision. */
extern const char rb_decision_root[];
/* Appends the JSON of the value at index; raises an error of `kind` that names the path, which begins with `root`. */
void rb_encode(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root);
/* The same with a limit on the text's length. Without one, a value may be as long as an outcome, other texts as long as memory allows. */
void rb_encode_within(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root, size_t limit);
/* Refuses the state for what is at the first `depth` steps of the VM's path. */
_Noreturn void rb_refuse_state(lua_State *L, int depth, const char *problem);
/* fit.c */
/* Raises an error that names the path if the state at index does not fit. */
void rb_check_fit(lua_State *L, int index);
/* Whether the value at index is the misfit that the last check found. */
bool rb_is_misfit(lua_State *L, int index);
/* decode.c */
typedef enum { RB_DECODE_EVENT, RB_DECODE_PLAIN } rb_decode_mode;
void rb_push_json(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen);
/* canonical.c */
/* Pushes the value of a text as the encoder writes it; false, and pushes nothing, if the text needs the general parser. */
bool rb_push_canonical(lua_State *L, const char *text, size_t length, bool frozen);
/* Pushes the name of a member. */
void rb_push_name(lua_State *L, const char *bytes, size_t length);
/* Pushes the value of a JSON text; false if it is not JSON, and then pushes the reason. */
bool rb_push_text(lua_State *L, const char *text, size_t length, bool frozen);
/* shape.c */
/* As rb_push_text, for a state, which rules may change. */
bool rb_push_state(lua_State *L, const char *text, size_t length);

/* sandbox.c */
void rb_open_sandbox(lua_State *L);
/* Pushes the value at index as text without addresses. */
void rb_push_display(lua_State *L, int index);
/* Notes where the test is that runs: in its own files, and in those of its plugin. */
void rb_note_place(lua_State *L);
/* traversal.c, sort.c, random.c */
int rb_base_pairs(lua_State *L);
int rb_base_next(lua_State *L);
int rb_base_ipairs(lua_State *L);
int rb_table_sort(lua_State *L);
int rb_math_random(lua_State *L);
/* host.c */
void rb_open_host(lua_State *L);
void rb_seed_random(rb_vm *vm, uint64_t seed);

/* levels.c */
/* To be called with each new state, before it reads any text. */
void rb_find_call_counter(lua_State *L);

/* costs.c */
void rb_clear_costs(rb_vm *vm, uint64_t seed);
/* A rule runs; `begun` is how many instructions of the event had run before its `when`. */
void rb_begin_cost(rb_vm *vm, int rule, int64_t begun);
void rb_end_cost(rb_vm *vm);
/* Counts instructions of the event at hand. Returns whether the hook's share is to be taken from the budget now. */
bool rb_counts_for_budget(rb_vm *vm, bool coroutine, int instructions);
/* Calls the host and pushes the results; raises its refusal. */
int rb_ask_host(lua_State *L, rb_call call, const rb_value *arguments, int count);
/* The same with the arguments from `first` to the top. */
int rb_call_host(lua_State *L, rb_call call, int first);
void rb_push_value(lua_State *L, const rb_value *value);
/* declare.c */
void rb_open_declarations(lua_State *L);
/* driver.c */
void rb_open_driver(lua_State *L);
/* cases.c */
/* Adds to the driver at that index what is written in Lua; `host` is a table of calls that tests can't make. */
void rb_open_cases(lua_State *L, int driver, int host);
/* blame.c */
/* Keeps where in the state the encoder found a value that can't be stored: the first `depth` steps of the VM's path. */
void rb_note_bad(rb_vm *vm, int depth);
/* To be called before each instruction while blaming. */
void rb_blame_hook(lua_State *L, lua_Debug *activation);
/* coverage.c */
void rb_coverage_hook(lua_State *L, lua_Debug *activation);
void rb_coverage_free(rb_vm *vm);

/* bytecode.c */
typedef struct {
  void *context;
  /* A global that the text reads, writes or calls. */
  void (*global)(void *context, const rb_finding *finding);
  /* An assignment to an upvalue of the outermost function: its index there, and the line. */
  void (*assigned)(void *context, int upvalue, int line);
  /* A use of the outermost function's first upvalue that is not the reading of a name in it. */
  void (*escaped)(void *context);
  /* A line that holds code. */
  void (*line)(void *context, int line);
} rb_bytecode_visitor;
/* Walks the function on top of the stack and all functions in it; false if the dump is of another Lua. */
bool rb_walk_bytecode(lua_State *L, const rb_bytecode_visitor *visitor);

#endif
