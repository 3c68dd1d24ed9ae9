#ifndef RB_OPERATIONS_H
#define RB_OPERATIONS_H
/* The operations of rules: each decision, effect or message is recorded as one. */
#include "Functions/functions.h"

/* The last operation on each name, by hash; holds the first `done` operations. */
typedef struct {
  uint32_t *slots;
  size_t capacity, done;
} rb_op_index;

typedef struct {
  double now, earliest_timer;
  uint16_t rule; /* the rule that runs; the evaluation sets it */
  int depth;     /* of raised events, over all plugins */
  rb_buffer chain;
  uint64_t checked[16]; /* the hashes of the types of the events whose data the host checks when rules make them */
  rb_buffer bytes;
  rb_op *all;
  size_t count, capacity;
  size_t reads;     /* how many operations are reads */
  size_t forgotten; /* the number of the last RB_OP_FORGET plus one, 0 for none */
  rb_op_index index;
} rb_operations;

/* Add their functions to the environment on top. */
void rb_open_operations(lua_State *L);
void rb_open_boards(lua_State *L);
/* Sets `untrack` of the VM's proxies. */
void rb_open_tracking(lua_State *L);

void rb_clear_operations(rb_vm *vm, const rb_event *event);
/* Whether one of the operations from `first` on raises an event. */
bool rb_raised_since(const rb_vm *vm, size_t first);
/* An event that a rule raised begins: one of another plugin with its depth and the types that led to it, or with NULL for those, one of this
   plugin's own. */
void rb_enter_raised(rb_vm *vm, rb_slice type, const rb_slice *chain, int depth);
void rb_leave_raised(rb_vm *vm);

/* The VM, if an event is handled that has room for another operation; raises otherwise. */
rb_vm *rb_changing(lua_State *L, const char *name);
/* A type, subject, sink or key: 1 to 256 bytes without control characters. */
rb_slice rb_check_name(lua_State *L, int index, const char *what);
/* Pushes two options, or one and NULL, of the table at index, nil for one that it lacks; raises if it has others. */
void rb_push_options(lua_State *L, int index, const char *function, const char *one, const char *other);
/* Adds an operation of the current rule; its kind and its rule are set here. */
void rb_add_op(rb_vm *vm, rb_op_kind kind, rb_op op);
/* Appends a text to the operations' bytes, and sets its offset and its length. */
void rb_add_text(rb_vm *vm, rb_slice text, uint32_t *at, uint32_t *length);
/* Appends the labels in the table at index, or none for nil, to the operations' bytes as JSON. */
void rb_encode_labels(lua_State *L, int table);
/* Pushes a proxy that records the reads through it. */
void rb_push_tracked(lua_State *L, int store, const char *path);

/* The effect of the event's own operations on a name. */
typedef enum { RB_UNKNOWN, RB_KNOWN_SET, RB_KNOWN_UNSET } rb_known;

void rb_clear_op_index(rb_vm *vm);
/* Whether the current rule has read that path of the state on this event. */
bool rb_has_read(rb_vm *vm, rb_slice path);
/* The operation that decided the key, NULL for none. */
const rb_op *rb_find_decision(rb_vm *vm, rb_slice key);
/* Whether the host checks the data of events of that type; true for some that it does not check. */
bool rb_may_be_checked(const rb_vm *vm, rb_slice type);
/* Whether the event claimed the once key, or forgot it. */
rb_known rb_known_once(lua_State *L, int key);
/* Whether the event set the timer, and to when, or cancelled or forgot it. */
rb_known rb_known_timer(lua_State *L, int name, lua_Number *when);
/* Whether the event joined the topic, or left it. */
rb_known rb_known_topic(lua_State *L, int name);

#endif
