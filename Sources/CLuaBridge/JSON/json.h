#ifndef RB_JSON_H
#define RB_JSON_H
/* Lua values to JSON and back. */
#include "JSON/text.h"
#include "Values/values.h"

/* Members of an object on their way to JSON ------------------------------------------------------------------------------------ */

/* A label is a name of at most RB_LABEL_NAME bytes that needs no escapes, between quotes and with a colon. A slot holds one, so there are
   several slots for each name that a plugin writes in every event. `string` is the Lua string, NULL in an empty slot. */
typedef struct {
  const void *string;
  const char *key;
  uint64_t prefix; /* of the name, to compare by */
  uint64_t text[RB_LABEL_WORDS];
  uint8_t key_length;
  uint8_t missed; /* how often another name was searched in this slot */
} rb_label;

/* A member of an object that is encoded: its key, and a scalar, or the stack index of a table. */
typedef struct {
  const char *key;
  size_t key_length;
  uint64_t prefix; /* of the key, to compare by */
  const rb_label *label; /* NULL if the name has none */
  int type;              /* LUA_T… */
  int stack_index;       /* of a table */
  uint32_t ranked;       /* index of the member that comes at this position in order */
  union {
    lua_Integer integer;
    lua_Number number;
    rb_slice text;
  } value;
  bool is_integer;
} rb_member;

typedef struct {
  rb_member *all;
  size_t count, capacity;
  rb_label labels[RB_LABELS];
} rb_members;

/* The label of the value at index; NULL if it has none, or gets one only now. */
const rb_label *rb_label_of(lua_State *L, rb_vm *vm, int index);
/* Collects the pair on top of the stack and pops its value; a table stays on the stack below the key. False if the key is no string. */
bool rb_note_member(lua_State *L, rb_vm *vm);
/* Sorts the members from `first` on by the bytes of their keys. */
void rb_rank_members(rb_vm *vm, size_t first);

/* Values to JSON --------------------------------------------------------------------------------------------------------------- */

enum { RB_DEPTH = 64, RB_PARTS = 10000 };

/* A step of a path to a value, for messages. */
typedef struct {
  const char *key;
  size_t key_length;
  lua_Integer index;
} rb_step;

/* A step on the way to a value in the state that can't be stored; its key is in `keys`. */
typedef struct {
  bool is_key;
  size_t key, key_length;
  lua_Integer index;
} rb_bad_step;

/* The place in the state of the last value that can't be stored. */
typedef struct {
  rb_bad_step steps[RB_DEPTH + 2];
  int depth;
  rb_buffer keys;
  bool stays; /* whether other such values are not noted */
} rb_bad_place;

typedef struct {
  rb_step path[RB_DEPTH + 2];
  rb_slice decision; /* the key of the decision that is being encoded, for messages; `decide` sets it */
  rb_bad_place bad;
  size_t parts; /* how many tables and named members the value has that was encoded last */
} rb_encoding;

/* The root of a decision's value. Messages add the key, so that no text is built for each decision. */
extern const char rb_decision_root[];
/* Appends the JSON of the value at index; raises an error of `kind` that names the path, which begins with `root`. */
void rb_encode(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root);
/* The same to the VM's result; returns it. */
rb_slice rb_encode_result(lua_State *L, int index, rb_kind kind, const char *root);
/* As rb_encode, with a limit on the text's length. Without one, a value may be as long as an outcome, other texts as long as memory allows. */
void rb_encode_within(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root, size_t limit);
/* Refuses the state for the value at the first `depth` steps of the VM's path. */
_Noreturn void rb_refuse_state(lua_State *L, int depth, const char *problem);
/* Keeps the place as it is from now on, or no longer. */
void rb_keep_bad_place(rb_vm *vm, bool stays);
const rb_bad_place *rb_last_bad_place(const rb_vm *vm);

/* Whether a state has the shape that its plugin declares ----------------------------------------------------------------------- */

/* A part of the state's shape; its name is a string of RB_SLOT_FIT. */
typedef struct {
  const char *name;
  size_t name_length;
  uint32_t end; /* the index after its own parts */
  rb_fit_type type;
  bool optional;
} rb_fit_node;

/* The way in which a state does not fit. */
typedef enum { RB_MISFIT_NONE = 0, RB_MISFIT_TYPE, RB_MISFIT_NULL, RB_MISFIT_MISSING, RB_MISFIT_UNKNOWN } rb_misfit;

typedef struct {
  rb_fit_node *nodes; /* NULL for no shape */
  bool closed, applies; /* applies: to the state that is being encoded */
  rb_misfit misfit; /* how the last encoded state does not fit, if that was its problem */
  uint32_t part;
} rb_fit;

/* Encodes the state at index to the VM's result; raises an error that names the path if it does not fit, where `fits` asks for that. */
void rb_encode_fitting(lua_State *L, int index, size_t limit, bool fits);
/* The member of the part that has the name; the part's end if it declares none. */
uint32_t rb_declared_member(const rb_fit *fit, uint32_t part, const char *name, size_t length);
/* Whether the shape of the state that is being encoded declares an array at the first `depth` steps of the VM's path. */
bool rb_declares_array(const rb_vm *vm, int depth);
bool rb_has_misfit(const rb_vm *vm);
/* Whether the value at index is the misfit that the last check found. */
bool rb_is_misfit(lua_State *L, int index);

/* JSON to values --------------------------------------------------------------------------------------------------------------- */

enum { RB_SHAPE = 16 };

/* A token of a JSON text: a container with its count, or a scalar. */
typedef struct {
  int kind; /* CJ_… */
  uint32_t length;
  union {
    const char *bytes;
    int64_t integer;
    double number;
  } value;
} rb_token;

/* A member's name that is kept as a Lua string: its first and last eight bytes, and its length plus one, 0 for an empty slot. */
typedef struct {
  uint64_t first, last;
  size_t length;
} rb_name;

/* The names of a state's members in order, each with quotes and colon. The masks cover the bytes that are used. */
typedef struct {
  uint32_t count, missed; /* missed: how many states in a row had other names */
  uint64_t labels[RB_SHAPE][RB_LABEL_WORDS], masks[RB_SHAPE][RB_LABEL_WORDS];
  uint8_t lengths[RB_SHAPE];
} rb_shape;

typedef struct {
  rb_token *tokens;
  size_t token_count, token_capacity;
  rb_name names[RB_NAMES];
  rb_shape shape;
  cj_doc *parser;
} rb_decoding;

typedef enum { RB_DECODE_EVENT, RB_DECODE_PLAIN } rb_decode_mode;
/* Sets the members of the object at `index` of the tape in the table on top. */
void rb_set_members(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen);
void rb_push_json(lua_State *L, rb_json json, size_t index, rb_decode_mode mode, bool frozen);
/* Pushes the value of a JSON text; false if it is not JSON, and then pushes the reason. */
bool rb_push_text(lua_State *L, const char *text, size_t length, bool frozen);
/* As rb_push_text, for a state, which rules may change. */
bool rb_push_state(lua_State *L, const char *text, size_t length);
/* Pushes the name of a member. */
void rb_push_name(lua_State *L, const char *bytes, size_t length);
/* Frees the memory that only a large event needs. */
void rb_trim_tokens(rb_vm *vm);

/* Reading JSON as the encoder writes it. */
typedef struct {
  const char *at, *end;
  rb_vm *vm;
  int depth;
} rb_reader;

/* Adds the tokens of the next value; false if it is not as the encoder writes it. */
bool rb_read_value(rb_reader *r);
/* Pushes the value whose first token is at index `*index`, and moves that past the value. */
void rb_push_token(lua_State *L, rb_vm *vm, size_t *index, bool frozen);
/* Pushes the value of a text as the encoder writes it; false, and pushes nothing, if the text needs the general parser. */
bool rb_push_canonical(lua_State *L, const char *text, size_t length, bool frozen);

#endif
