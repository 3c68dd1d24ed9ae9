#ifndef RB_FUNCTIONS_H
#define RB_FUNCTIONS_H
/* The functions that rules may call and that change nothing, and calls to the host. */
#include "JSON/json.h"

/* Calls to the host ------------------------------------------------------------------------------------------------------------ */

/* A function with an integer as its upvalue: the rb_call of one that only asks the host, for which `function` is NULL. */
typedef struct {
  const char *name;
  lua_CFunction function;
  int upvalue;
} rb_closure;

/* Adds a frozen table of functions to the environment on top. Each list ends with an empty element; NULL for none. */
void rb_add_table(lua_State *L, const char *name, const luaL_Reg *plain, const rb_closure *closures);
void rb_open_host(lua_State *L);

/* Calls the host and pushes the results; raises its refusal. */
int rb_ask_host(lua_State *L, rb_call call, const rb_value *arguments, int count);
/* The same with the arguments from `first` to the top. */
int rb_call_host(lua_State *L, rb_call call, int first);
void rb_push_value(lua_State *L, const rb_value *value);

/* The VM, if an event, a query or a handler is running; raises otherwise. */
rb_vm *rb_evaluating(lua_State *L, const char *name);
/* The same if a query or a handler is running. */
rb_vm *rb_reading(lua_State *L, const char *name);
rb_slice rb_check_text(lua_State *L, int index);
/* The text that is the function's only argument, charged. */
rb_slice rb_charged_text(lua_State *L, const char *function);

/* Functions -------------------------------------------------------------------------------------------------------------------- */

enum { RB_ZONES = 4 };

/* A time zone's offset from UTC in seconds, and from when until when it applies; length 0 for an empty entry. */
typedef struct {
  size_t length;
  char name[64];
  int64_t offset, from, until;
} rb_zone;

typedef struct {
  uint64_t random[4];
  rb_zone zones[RB_ZONES];
  unsigned next_zone;
  struct cp_cache *patterns; /* NULL until a rule uses one */
} rb_functions;

/* Makes the environment, with the allowed functions of Lua's own library. */
void rb_open_sandbox(lua_State *L);
int rb_base_pairs(lua_State *L);
int rb_base_next(lua_State *L);
int rb_base_ipairs(lua_State *L);
int rb_table_sort(lua_State *L);
int rb_math_random(lua_State *L);
void rb_seed_random(rb_vm *vm, uint64_t seed);

/* Add their functions to the environment on top. */
void rb_open_calendar(lua_State *L);
void rb_open_comparisons(lua_State *L);
void rb_open_encodings(lua_State *L);
void rb_open_pick(lua_State *L);
void rb_open_text(lua_State *L);
void rb_open_url(lua_State *L);

static inline bool rb_is_digit(char c) { return c >= '0' && c <= '9'; }

/* The value of a hexadecimal digit, -1 for another character. */
static inline int rb_hex_digit(char c) {
  char lower = (char)(c | 0x20);
  return rb_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int rb_find_re(lua_State *L);
int rb_url_encode(lua_State *L);
/* Pushes a text in Unicode lower case. */
void rb_push_lower(lua_State *L, rb_slice text);

#endif
