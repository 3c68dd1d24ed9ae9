#ifndef RB_MEMBERS_H
#define RB_MEMBERS_H
/* The members of an object on their way to JSON. */
#include "bridge.h"

/* The label of the value at index; NULL if it has none, or gets one only now. */
const rb_label *rb_label_of(lua_State *L, rb_vm *vm, int index);
/* Collects the pair on top of the stack and pops its value; a table stays on the stack below the key. False if the key is no string. */
bool rb_note_member(lua_State *L, rb_vm *vm);
/* Sorts the members from `first` on by the bytes of their keys. */
void rb_rank_members(rb_vm *vm, size_t first);

#endif
