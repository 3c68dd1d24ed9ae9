#ifndef RB_CANONICAL_H
#define RB_CANONICAL_H
/* Parts of the reader of JSON as the encoder writes it. */
#include "bridge.h"

typedef struct {
  const char *at, *end;
  rb_vm *vm;
  int depth;
} rb_reader;

/* Adds the tokens of the next value; false if it is not as the encoder writes it. */
bool rb_read_value(rb_reader *r);
/* Pushes the value whose first token is at index `*index`, and moves that past the value. */
void rb_push_token(lua_State *L, rb_vm *vm, size_t *index, bool frozen);

#endif
