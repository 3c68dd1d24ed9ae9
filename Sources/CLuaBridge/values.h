#ifndef RB_VALUES_H
#define RB_VALUES_H
/* Types for converting values to JSON and back. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

enum { RB_NAMES = 128, RB_SHAPE = 16 };

/* A label is a name of at most RB_LABEL_NAME bytes that needs no escapes, between quotes and with a colon. A slot holds one, so there are
   several slots for each name that a plugin writes in every event. */
enum { RB_LABEL_BITS = 8, RB_LABELS = 1 << RB_LABEL_BITS, RB_LABEL_WORDS = 3, RB_LABEL_NAME = 8 * RB_LABEL_WORDS - 3 };

/* A member's name: the Lua string, and its text in JSON with quotes and colon. `string` is NULL in an empty slot. */
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
    struct {
      const char *bytes;
      size_t length;
    } text;
  } value;
  bool is_integer;
} rb_member;

/* A step of a path to a value, for messages. */
typedef struct {
  const char *key;
  size_t key_length;
  lua_Integer index;
} rb_step;

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

#endif
