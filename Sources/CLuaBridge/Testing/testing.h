#ifndef RB_TESTING_H
#define RB_TESTING_H
/* Parts of a VM for tests alone. */
#include "Loading/loading.h"

typedef struct {
  rb_buffer source; /* the chunk's name */
  uint64_t *runs;
  int lines;
} rb_covered;

typedef struct {
  rb_covered *sources;
  size_t count;
  const char *last; /* the source of `index` */
  size_t index;
} rb_coverage;

void rb_coverage_free(rb_vm *vm);

void rb_open_driver(lua_State *L);
/* Adds the functions written in Lua to the driver at that index; `host` is a table of calls that tests can't make. */
void rb_open_cases(lua_State *L, int driver, int host);

#endif
