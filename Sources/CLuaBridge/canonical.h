#ifndef RB_CANONICAL_H
#define RB_CANONICAL_H
/* The parts of reading JSON text as the encoder writes it. */
#include "bridge.h"

typedef struct {
  const char *at, *end;
  rb_vm *vm;
  int depth;
} rb_reader;

/* Adds the tokens of the value that stands next; false when it is not of this kind. */
bool rb_read_value(rb_reader *r);
/* Pushes the value whose first token is at `*place`, which moves behind it. */
void rb_push_token(lua_State *L, rb_vm *vm, size_t *place, bool frozen);

#endif
