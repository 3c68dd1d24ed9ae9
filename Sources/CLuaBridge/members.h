#ifndef RB_MEMBERS_H
#define RB_MEMBERS_H
/* The members of an object on their way to JSON. */
#include "bridge.h"

/* The label of the value at index; NULL when it is no string that is kept, or was none until now. */
const rb_label *rb_label_of(lua_State *L, rb_vm *vm, int index);
/* Notes the pair on top of the stack and pops its value, but a table stays on the stack below the key; false when the key is no string. */
bool rb_note_member(lua_State *L, rb_vm *vm);
/* Ranks the members from `first` on by their keys' bytes. */
void rb_rank_members(rb_vm *vm, size_t first);

#endif
