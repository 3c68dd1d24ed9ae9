#ifndef RB_EVALUATION_H
#define RB_EVALUATION_H
/* Running the rules of an event. */
#include "Operations/operations.h"

typedef struct {
  rb_event event;
  unsigned fields; /* those that are set in its store */
  bool extended;
  int level; /* of raised events, within this VM */
} rb_current;

void rb_open_event(lua_State *L);
/* Puts the event's proxy into its slot. Its fields are made when a rule first reads them, or by rb_fill_event. */
void rb_make_event(lua_State *L, const rb_event *event);
/* Makes all fields of the event, or all but type and data, whose text may be gone. */
void rb_fill_event(lua_State *L, bool whole);
/* Pushes an event's data, frozen. */
void rb_push_data(lua_State *L, rb_json json, size_t data);

typedef struct {
  size_t operation; /* the number from 1 on of the operation whose line is looked for; 0 for a value in the state */
  const char *last_source, *source; /* of the last instruction, and of the instruction to blame */
  int last_line, line, last_rule, rule;
  bool was_bad; /* whether the value, or the operation, was there at the last instruction */
} rb_blame;

#endif
