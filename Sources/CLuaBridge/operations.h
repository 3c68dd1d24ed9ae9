#ifndef RB_OPERATIONS_H
#define RB_OPERATIONS_H
/* The functions with which rules decide, emit, send and so on. */
#include "bridge.h"

/* The VM, if an event, a query or a handler is running; raises otherwise. */
rb_vm *rb_evaluating(lua_State *L, const char *name);
/* The VM, if an event is handled that has room for another operation; raises otherwise. */
rb_vm *rb_changing(lua_State *L, const char *name);
rb_slice rb_check_text(lua_State *L, int index);
/* A type, subject, sink or key: 1 to 256 bytes without control characters. */
rb_slice rb_check_name(lua_State *L, int index, const char *what);

/* What the event's own operations did to a name. */
typedef enum { RB_UNKNOWN, RB_KNOWN_SET, RB_KNOWN_UNSET } rb_known;

/* index.c */
/* The operation that decided the key, NULL for none. */
const rb_op *rb_find_decision(rb_vm *vm, rb_slice key);
/* Whether the event claimed the once key, or forgot it. */
rb_known rb_known_once(lua_State *L, int key);
/* Whether the event set the timer, and to when, or cancelled or forgot it. */
rb_known rb_known_timer(lua_State *L, int name, lua_Number *when);

/* labels.c */
/* Appends the labels in the table at index, or none for nil, to the operations' bytes as JSON. */
void rb_encode_labels(lua_State *L, int table);

int rb_host_decide(lua_State *L);
int rb_host_emit(lua_State *L);
int rb_host_raise(lua_State *L);
int rb_host_send(lua_State *L);
int rb_host_once(lua_State *L);
int rb_host_count(lua_State *L);
int rb_host_timer_set(lua_State *L);
int rb_host_timer_every(lua_State *L);
int rb_host_timer_cancel(lua_State *L);
int rb_host_timer_due(lua_State *L);
int rb_host_forget(lua_State *L);
int rb_host_now(lua_State *L);
int rb_host_log(lua_State *L);
/* boards.c */
int rb_host_board_set(lua_State *L);
int rb_host_board_add(lua_State *L);
int rb_host_board_leave(lua_State *L);
int rb_host_board_top(lua_State *L);
int rb_host_board_rank(lua_State *L);
int rb_host_board_around(lua_State *L);
int rb_host_board_count(lua_State *L);
/* unicode.c */
/* Pushes a text in Unicode lower case. */
void rb_push_lower(lua_State *L, rb_slice text);
int rb_host_text_lower(lua_State *L);
int rb_host_text_upper(lua_State *L);
int rb_host_text_fold(lua_State *L);
int rb_host_text_trim(lua_State *L);
/* patterns.c */
int rb_host_text_find_re(lua_State *L);
/* encodings.c */
int rb_host_base64_encode(lua_State *L);
int rb_host_base64_decode(lua_State *L);
int rb_host_hex_encode(lua_State *L);
int rb_host_hex_decode(lua_State *L);
int rb_host_url_encode(lua_State *L);
/* comparisons.c */
int rb_host_semver_compare(lua_State *L);
int rb_host_ip_within(lua_State *L);
/* pick.c */
int rb_host_pick(lua_State *L);
/* url.c */
int rb_host_url_parse(lua_State *L);
/* calendar.c; the upvalue is the rb_call, one that asks for the day, the date, the hour or the weekday. */
int rb_host_calendar(lua_State *L);
int rb_host_calendar_add(lua_State *L);
int rb_host_calendar_known(lua_State *L);
int rb_host_calendar_workday(lua_State *L);

#endif
