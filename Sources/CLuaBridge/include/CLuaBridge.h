#ifndef CLUABRIDGE_H
#define CLUABRIDGE_H
/*
 * Lua 5.4 for untrusted rules.
 *
 * An `rb_vm` is one plugin on one worker thread: a Lua state whose memory is one arena, an environment that holds only what a rule
 * may call, and a budget. Everything here may be called from Swift: no Lua error and no jump crosses a caller's frame. When a rule
 * exceeds its budget, it is stopped by a jump out of the VM, which can't be used again (`rb_vm_dead` is true): free it and build a new one.
 *
 * A VM and its worker belong to the thread that made the worker.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CJSON.h"

typedef struct rb_worker rb_worker;
typedef struct rb_vm rb_vm;

/* A run of bytes that somebody else owns. */
typedef struct {
  const char *bytes;
  size_t length;
} rb_slice;

/* How a call ended. From RB_FAILED on, `rb_failure_of` gives the reason. */
typedef enum {
  RB_OK = 0,
  RB_FIRED = 0,
  RB_NOT_FIRED = 1,
  RB_FAILED = 2,       /* an uncaught error */
  RB_INSTRUCTIONS = 3, /* the instruction budget: the VM is dead */
  RB_MEMORY = 4,       /* the memory budget: the VM is dead */
  RB_TIME = 5,         /* the processor time budget: the VM is dead */
} rb_status;

/* The kind of an uncaught error, chosen by the function that raised it. */
typedef enum {
  RB_KIND_ERROR = 0,
  RB_KIND_INSTRUCTIONS,
  RB_KIND_MEMORY,
  RB_KIND_TIME,
  RB_KIND_STATE,
  RB_KIND_VALUE,
  RB_KIND_CYCLE,
} rb_kind;

typedef struct {
  rb_kind kind;
  rb_slice message;
  rb_slice file; /* relative to the rules folder; empty when unknown */
  int line;      /* 0 when unknown */
} rb_failure;

/* A value that is passed between Lua and the host. */
typedef enum {
  RB_NIL = 0,
  RB_BOOLEAN,
  RB_INTEGER,
  RB_NUMBER,
  RB_STRING,
  RB_JSON,        /* JSON text that becomes a plain Lua value; as an argument: the value's encoding */
  RB_JSON_FROZEN, /* JSON text that becomes a frozen Lua value */
} rb_type;

typedef struct {
  rb_type type;
  int64_t integer; /* also a boolean */
  double number;
  rb_slice text;
} rb_value;

/* Functions that rules call and the host answers. */
typedef enum {
  RB_CALL_ONCE = 0,       /* key, seconds or nil -> boolean */
  RB_CALL_TIMER_DUE,      /* name -> number or nil */
  RB_CALL_COUNTERS,       /* prefix -> json */
  RB_CALL_PEEK,           /* plugin -> frozen json or nil */
  RB_CALL_UUID,           /* -> string */
  RB_CALL_EFFECT_ID,      /* key or nil -> string */
  RB_CALL_DATA,           /* the name of a file that the plugin does not have -> an error */
  RB_CALL_CALENDAR_OFFSET, /* t, zone -> the zone's offset, and from when and until when it applies at least: integers */
  RB_CALL_CALENDAR_START, /* day, zone -> number */
  RB_CALL_CALENDAR_WEEK,  /* t, zone -> string */
  RB_CALL_CALENDAR_AT,    /* day, time of day, zone -> number */
  RB_CALL_CALENDAR_ADD,   /* t, json of an amount, zone -> number */
  RB_CALL_CALENDAR_KNOWN, /* zone -> whether there is one of that name */
  RB_CALL_CALENDAR_PARSE,  /* text -> number or nil */
  RB_CALL_CALENDAR_FORMAT, /* t -> string */
  RB_CALL_TEXT_REPAIR,     /* text that is not UTF-8 -> text that is */
  RB_CALL_SHA256,
  RB_CALL_HMAC_SHA256, /* key, text -> string */
  RB_CALL_BUCKET,      /* name, key or nil -> number */
  RB_CALL_GEO_DISTANCE,
  RB_CALL_TEST, /* the test driver's own calls: name, json... -> anything */
  RB_CALL_COVERED, /* integer: a function or a branch of that number begins */
  RB_CALL_TIMER_EVERY, /* json of a schedule, now, the earliest time -> number: when it is due first, and the schedule's text to be kept */
  RB_CALL_DURATION, /* text such as 30d -> number of seconds, or nil */
  RB_CALL_ARGUMENT, /* path, integer: a line, ipairs or pairs -> the text of the call's argument, or nil */
  RB_CALL_CHECK_DATA, /* function, type, text of the data: an error if it makes an event whose data is not as declared */
  RB_CALL_BOARD_KEEP,   /* a duration -> microseconds, 0 for none */
  RB_CALL_BOARD_TOP,    /* board, count, first rank -> json */
  RB_CALL_BOARD_AROUND, /* board, subject, count on each side -> json */
  RB_CALL_BOARD_RANK,   /* board, subject -> integer or nil */
  RB_CALL_BOARD_COUNT,  /* board -> integer */
  RB_CALL_TOPIC_JOINED, /* name -> boolean */
  RB_CALL_TOPIC_COUNT,  /* name -> integer */
} rb_call;

/* The kinds of declarations, which a plugin's file makes while it loads. */
typedef enum {
  RB_DECLARE_PLUGIN = 0, /* json: the manifest; answers the merged settings as RB_JSON_FROZEN */
  RB_DECLARE_RULE,       /* name, json {on, priority, has_when} */
  RB_DECLARE_QUERY, /* name, json {} or {args, about} */
  RB_DECLARE_WEB,
  RB_DECLARE_SINK,
  RB_DECLARE_TEST,
  RB_DECLARE_EVENT, /* type, json [members, options] */
  RB_DECLARE_STATE,   /* json: the members and the options */
  RB_DECLARE_MIGRATE, /* json: for each step [version, whether it has an up, whether it has a down] */
  RB_DECLARE_SETTING, /* path, index of its check, json of its options; `check` is true if there is one */
} rb_declaration;

/* The answers of `find`. */
enum { RB_MODULE_ABSENT, RB_MODULE_FOUND, RB_MODULE_REFUSED };

typedef struct {
  /* Answers a call: the number of results written (4 at most), or -1 with `results[0].text` the error and `.integer` its kind. */
  int (*call)(void *context, int call, const rb_value *arguments, int count, rb_value *results);
  /* Finds the module that `require` names: its text and its path relative to the rules folder, or as the text why it is refused. */
  int (*find)(void *context, rb_slice name, rb_slice *text, rb_slice *path);
  /* Takes a declaration; false with an error text when it is wrong. */
  bool (*declare)(void *context, int declaration, int index, rb_slice name, rb_slice json, rb_slice file, int line, rb_value *result,
                  rb_slice *error);
} rb_host;

/* The budget of a plugin for one event. */
typedef struct {
  int64_t instructions;
  int64_t memory_bytes; /* beyond those in use when the event begins */
  int milliseconds;     /* of processor time */
  int operations;       /* how many operations rules may ask for; more of them are an error */
} rb_budget;

/* The kinds of operations. `a` to `d` are offsets in `rb_op_bytes`, with their lengths; their content depends on the kind. */
typedef enum {
  RB_OP_DECIDE = 0,   /* a key, b json */
  RB_OP_SHADOWED,     /* a key, integer: the rule that decided it */
  RB_OP_EMIT,         /* a sink, b type, c json, d id, RB_OP_KEYED */
  RB_OP_RAISE,        /* a type, b json, c the types that led to it, integer: depth in raises */
  RB_OP_SEND,         /* a subject, b type, c json */
  RB_OP_COUNT,        /* a name, b labels json, number or integer; c is no offset but the seconds that it is kept, 0 if the rule does not say */
  RB_OP_TIMER_SET,    /* a name, b type, c json, number: when, d json of a schedule if it repeats */
  RB_OP_TIMER_CANCEL, /* a name */
  RB_OP_FORGET,
  RB_OP_LOG,  /* integer: level 0 to 3, a message, b fields json or empty */
  RB_OP_ONCE, /* a key, number: seconds until it expires, flags 1: it expires */
  RB_OP_READ, /* explain only: a path */
  RB_OP_PLACE, /* a board, number: score, RB_OP_SET and so on, integer: microseconds that it is kept, 0 for ever */
  RB_OP_PART, /* explain only: integer: a part of a `when`, a its value as text, flags 1: it is a string */
  RB_OP_TOPIC_JOIN,  /* a name */
  RB_OP_TOPIC_LEAVE, /* a name */
  RB_OP_PUBLISH,     /* a name of a topic, b type, c json, d a subject that does not get it or empty */
  RB_OP_FORGET_PAST,
} rb_op_kind;

/* Flags of RB_OP_PLACE: the change of the subject's place, that options were given, and that the least score is first. */
enum { RB_OP_SET = 0, RB_OP_ADD = 1, RB_OP_LEAVE = 2, RB_OP_OPTIONS = 4, RB_OP_LOW = 8 };

/* Flags of operations; rb_collapse_ops sets the last two. */
enum {
  RB_OP_KEYED = 1,    /* an effect with a key: recorded once */
  RB_OP_ALL = 1,      /* a forget of the whole subject */
  RB_OP_FOLLOWS_FORGET = 64,  /* an effect with a key after a forget: nothing recorded before the event counts as a repeat */
  RB_OP_VOID = 128,   /* a later operation of the event undoes it, or it is an effect that repeats an earlier one: skip it */
};

typedef struct {
  uint8_t kind;
  uint8_t flags; /* for RB_OP_COUNT 1: `number` is added, else `integer` */
  uint16_t rule; /* the rule that asked for it */
  uint32_t a, a_length, b, b_length, c, c_length, d, d_length;
  int64_t integer;
  double number;
} rb_op;

/* A text that simdjson parsed, as CJSON.h describes it. */
typedef struct {
  const uint64_t *tape;
  const uint8_t *strings;
} rb_json;

/* The event that rules run on. */
typedef struct {
  rb_slice id, source, type, subject;
  rb_slice origin; /* the value of `event.origin` */
  rb_slice sender; /* the subject that sent a message; empty for none */
  double time;
  rb_json json;           /* the parsed text that holds `data` and the extensions */
  size_t data;            /* tape index, 0 for none */
  size_t attributes;      /* tape index of the object whose further members are extensions, 0 for none */
  double now;
  double earliest_timer; /* no timer that the plugin sets is due before it */
  uint64_t seed; /* of math.random */
  rb_slice state; /* JSON; empty when there is none yet; no address for a query without a subject */
  bool read_only; /* a query or handler: state is frozen, and functions that change something raise */
  bool explain;   /* record reads */
  int depth;      /* how many raises deep the event is */
  rb_slice chain; /* the types that led to the event, its own last; for the message on a cycle */
} rb_event;

/* Workers ---------------------------------------------------------------------------------------------------------------------- */

/* Prepares the calling thread: a timer of its processor time, which stops rules at their deadline. NULL if the kernel refuses. */
rb_worker *rb_worker_new(void);
void rb_worker_free(rb_worker *worker);
/* From now on the VMs of `worker` run on the thread of `acting`, with that thread's deadlines, until it is called with `worker` for both. */
void rb_worker_run_on(rb_worker *worker, rb_worker *acting);

/* Life of a VM ----------------------------------------------------------------------------------------------------------------- */

/* The address space that a VM reserves, in MiB. */
enum { RB_RESERVED_MIB = 256 };

rb_vm *rb_vm_new(rb_worker *worker, const rb_host *host, void *context);
/* Moves a VM in which nothing runs to another worker, or with NULL to none until it is moved again. */
void rb_vm_move(rb_vm *vm, rb_worker *worker);
void rb_vm_set_context(rb_vm *vm, void *context);
/* The host is asked, by RB_CALL_CHECK_DATA, about each event of these types that a rule raises, sends or sets a timer for. */
void rb_vm_check_no_type(rb_vm *vm);
void rb_vm_check_type(rb_vm *vm, rb_slice type);
void rb_vm_free(rb_vm *vm);
bool rb_vm_dead(const rb_vm *vm);
/* Whether the processor time of the running call is over: a host function that takes long asks this from time to time, and returns early then. */
bool rb_vm_expired(const rb_vm *vm);
/* How many milliseconds of processor time were taken since the budget began, to a tick of 5. */
int rb_vm_spent(const rb_vm *vm);
rb_failure rb_failure_of(const rb_vm *vm);

/* Decodes a JSON file of the plugin, which `data` then gives to rules. With NULL for a budget, the one that was begun last goes on. */
rb_status rb_load_data(rb_vm *vm, rb_slice name, rb_slice text, const rb_budget *budget);
/* Runs a file of the plugin under the budget; declarations reach `host.declare`. NULL for a budget is as above. */
rb_status rb_load(rb_vm *vm, rb_slice text, rb_slice path, const rb_budget *budget);
/* The types of parts of the state. */
typedef enum {
  RB_FIT_ANY = 0, /* any value but null */
  RB_FIT_STRING,
  RB_FIT_BOOLEAN,
  RB_FIT_INTEGER,
  RB_FIT_NUMBER,
  RB_FIT_OBJECT,
  RB_FIT_ARRAY,
  RB_FIT_ELEMENTS, /* an array; its part is that of each element */
  RB_FIT_MEMBERS,  /* an object; its parts are members */
} rb_fit_type;

/* A part of the state, which is followed by its own parts. */
typedef struct {
  rb_slice name; /* of a member */
  rb_fit_type type;
  bool optional; /* whether it may be missing or null */
  int parts;     /* how many it has itself, those of its parts left out */
} rb_fit_part;

/* Has the encoder refuse states that do not fit; `closed`: also those with other members. The first part is the state. Call it before
   rb_seal. */
rb_status rb_set_fit(rb_vm *vm, const rb_fit_part *parts, size_t count, bool closed);

/* Ends loading: freezes all values that rules can reach, and refuses functions that could carry a value from one event to the next. */
rb_status rb_seal(rb_vm *vm);

/* Writes the name under which Prometheus has a label; returns its length, which is 6 more than the name's at most. */
size_t rb_label_name(rb_slice name, char *into);

/* Whether a text is a pattern for text.find_re; if not, `why` has the reason, cut off at `room` bytes with the final zero. */
bool rb_check_pattern(rb_slice text, char *why, size_t room);

/* Whether semver.compare, or ip.within as an address or as a block of them, can read a text. */
bool rb_is_version(rb_slice text);
bool rb_is_address(rb_slice text);
bool rb_is_block(rb_slice text);

/* Compiles the text without running it. A syntax error is a failure of the VM. */
rb_status rb_check_syntax(rb_vm *vm, rb_slice text, rb_slice path);
/* Whether a global of that name exists for rules. */
bool rb_has_global(rb_vm *vm, rb_slice name);
/* Reports each name in the table that is a global of that name; none if it is no table. */
rb_status rb_each_member(rb_vm *vm, rb_slice name, void *context, void (*report)(void *context, rb_slice member));
/* Evaluates a configuration file. `rb_result` is then an object of the globals that it assigned, with their lines. */
rb_status rb_configure(rb_vm *vm, rb_slice text, rb_slice path, const rb_budget *budget);

/* Evaluation ------------------------------------------------------------------------------------------------------------------- */

/* Begins an event: makes its table and that of the state, removes the operations, starts the budget. */
rb_status rb_begin(rb_vm *vm, const rb_event *event, const rb_budget *budget);
/* The rules that rb_run runs on an event, and its progress. */
typedef struct {
  const long *rules; /* in order */
  size_t count;
  size_t state_limit; /* bytes that the encoded state may have */
  size_t next;        /* how many rules are done */
  int rule;           /* the rule that failed, -1 for none */
  bool ended;         /* all rules are done and the state is encoded */
} rb_progress;
/* Begins an event, runs the rules and encodes the state in one call, but stops after a rule that raised an event: rb_run_rule and
   rb_encode_state do the rest. With `uncounted`, instructions may not be counted, and rb_end_uncounted must be called at the end. */
rb_status rb_run(rb_vm *vm, const rb_event *event, const rb_budget *budget, bool uncounted, rb_progress *progress);
/* Ends an event that was run uncounted, whether it failed or not. False if more instructions than the budget's may have run: discard its
   work, and the VM too if it is dead, and run the event again with counting. */
bool rb_end_uncounted(rb_vm *vm);
/* Makes the fields of the event that no rule has read yet; call it before their text is gone. */
rb_status rb_complete_event(rb_vm *vm);
/* Makes an event that a rule raised the current one until rb_end_raised; the state is the same. For an event that another plugin raised,
   `budget`, `depth` and `chain` are given; for one of this plugin's own, `budget` is NULL. */
rb_status rb_begin_raised(rb_vm *vm, rb_slice type, rb_json json, size_t data, const rb_budget *budget, int depth, rb_slice chain);
void rb_end_raised(rb_vm *vm);
/* From now on, records which rules run on each event. The instructions of an event are counted one by one, which takes several times as long,
   if its seed has no bit in common with `mask`: those of all events for 0. The behaviour of rules, and the place where they are stopped, stay the same. */
void rb_record_costs(rb_vm *vm, uint64_t mask);
/* The cost of one run of a rule. */
typedef struct {
  int rule;
  int64_t instructions; /* -1 where they were not counted */
} rb_cost;
/* The rules that ran since rb_begin, the one that failed last included; of more than 256 the first. */
const rb_cost *rb_costs(rb_vm *vm, size_t *count);
/* Stops the clock of the event's budget while the host explains, and lets it run again. */
void rb_pause_time(rb_vm *vm);
void rb_resume_time(rb_vm *vm);
/* How many operations of the event are for explanations alone. */
size_t rb_recorded(const rb_vm *vm);
/* Runs one rule on the current event. */
rb_status rb_run_rule(rb_vm *vm, int rule);
/* Where the `when` of a rule is written; false if it has none, or one that is not written in Lua. */
bool rb_find_when(rb_vm *vm, int rule, rb_slice *path, int *first_line, int *last_line);
/* Puts the function that `text` returns in the place of the rule's `when`, until rb_restore_when. It gets the upvalues of the same names, and as
   `recorder` a function that takes the number and the value of a part and returns the value. The `when` must not use that name. So many empty lines
   are before it. Called between rb_begin and the rule. False, and nothing is changed, if it has a name or as many parameters as the `when` does not
   have. */
bool rb_replace_when(rb_vm *vm, int rule, int lines, rb_slice text, rb_slice path, rb_slice recorder);
void rb_restore_when(rb_vm *vm, int rule);
/* Encodes the state to `rb_result`, which is empty when there is none. With a limit of 0 neither its size nor its shape is checked. */
rb_status rb_encode_state(rb_vm *vm, size_t state_limit);
/* Brings a state, which `event` has, from one version to another by the plugin's steps, and encodes it to `rb_result` as rb_encode_state does. Begins
   the budget, and removes the operations. Between equal versions nothing runs. */
rb_status rb_migrate(rb_vm *vm, const rb_event *event, const rb_budget *budget, int from, int to, size_t state_limit, bool fits);
/* How many instructions of the budget are left. */
int64_t rb_instructions_left(const rb_vm *vm);
/* Calls query `index` after rb_begin; `rb_result` holds its result. */
rb_status rb_query(rb_vm *vm, int index, rb_json json, size_t arguments);
/* Calls a web or sink handler after rb_begin; `rb_result` holds an array of its results. */
rb_status rb_handle(rb_vm *vm, rb_declaration kind, int index, rb_slice argument_json);
/* Calls test `index` with its driver object. */
rb_status rb_test(rb_vm *vm, int index, const rb_budget *budget);
/* Where the test that runs is now, while it calls the host: `file:line`, a tab and the function's name, a line for each call, the last first. */
rb_slice rb_test_place(rb_vm *vm);
/* Where the last test failed. */
rb_slice rb_failed_place(const rb_vm *vm);
/* Whether the last test has called t:equal, t:truthy or t:fails. */
bool rb_test_compared(const rb_vm *vm);

/* The result of the last rb_encode_state, rb_query, rb_handle or rb_configure. */
rb_slice rb_result(const rb_vm *vm);
/* The operations since rb_begin. */
const rb_op *rb_ops(const rb_vm *vm, size_t *count);
const char *rb_op_bytes(const rb_vm *vm);
/* Sets RB_OP_VOID on operations that are undone or repeated; call it once all rules of the event have run. */
void rb_collapse_ops(rb_vm *vm);

/* Blame ------------------------------------------------------------------------------------------------------------------------ */

/* While `blaming`, each instruction is followed by a look at the place in the state where the last encoding found a value that can't be
   stored, or with an `operation`, at the number of operations. Set it before an event that failed so is run again. */
void rb_set_blaming(rb_vm *vm, bool blaming, size_t operation);
/* The line that put that value there, or that asked for that operation, counted from 1 on; false when it is not known. */
bool rb_blamed(rb_vm *vm, rb_slice *file, int *line, int *rule);

/* Coverage --------------------------------------------------------------------------------------------------------------------- */

/* From now on records each line that runs, and offers texts the function `__covered`, which tells the host that a part begins. */
rb_status rb_coverage_start(rb_vm *vm);
/* Reports each line that ran and how often; works for a dead VM too. */
void rb_coverage_runs(const rb_vm *vm, void *context, void (*report)(void *context, rb_slice path, int line, uint64_t runs));
/* Reports each line of a source text that holds code, and how often it ran. */
rb_status rb_coverage_lines(rb_vm *vm, rb_slice text, rb_slice path, void *context, void (*report)(void *context, int line, uint64_t runs));

#endif
