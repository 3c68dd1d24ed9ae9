#ifndef RB_VALUES_H
#define RB_VALUES_H
/* What is known of values on their way to JSON and back. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

/* A label is a name of at most RB_LABEL_NAME bytes that needs no escapes, between quotes and with a colon. */
enum { RB_NAMES = 128, RB_LABELS = 64, RB_SHAPE = 16, RB_LABEL_WORDS = 3, RB_LABEL_NAME = 8 * RB_LABEL_WORDS - 3 };

/* A member's name as a Lua string that is kept, and as the encoder writes it, between quotes and with a colon; no string for none. */
typedef struct {
  const void *string;
  const char *key;
  uint64_t prefix; /* of the name, to compare by */
  uint64_t text[RB_LABEL_WORDS];
  uint8_t key_length;
  uint8_t missed; /* how often another name was looked for here */
} rb_label;

/* One member of an object on its way to JSON: its key, and a scalar in place or a table on the Lua stack. */
typedef struct {
  const char *key;
  size_t key_length;
  uint64_t prefix; /* of the key, to compare by */
  const rb_label *label; /* NULL for a name that is not kept */
  int type;              /* LUA_T… */
  int stack_index;       /* of a table */
  uint32_t ranked;       /* which of the object's members comes at this place */
  union {
    lua_Integer integer;
    lua_Number number;
    struct {
      const char *bytes;
      size_t length;
    } text;
  } value;
  bool is_integer;
} rb_member;

/* A step of the path to a value, for messages. */
typedef struct {
  const char *key;
  size_t key_length;
  lua_Integer index;
} rb_step;

/* A piece of a JSON text: a container, with its count, or a scalar. */
typedef struct {
  int kind; /* CJ_… */
  uint32_t length;
  union {
    const char *bytes;
    int64_t integer;
    double number;
  } value;
} rb_token;

/* A member's name that is kept as a Lua string: its first and its last eight bytes, and its length and one, 0 for none. */
typedef struct {
  uint64_t first, last;
  size_t length;
} rb_name;

/* The names of a state's members, in order, each between quotes and with a colon; what their bytes are not is masked out. */
typedef struct {
  uint32_t count, missed; /* missed: how many states in a row had others */
  uint64_t labels[RB_SHAPE][RB_LABEL_WORDS], masks[RB_SHAPE][RB_LABEL_WORDS];
  uint8_t lengths[RB_SHAPE];
} rb_shape;

#endif
