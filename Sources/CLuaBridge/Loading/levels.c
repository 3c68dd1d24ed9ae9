/*
 * Lua's parser counts its own calls together with those of the rules that are running, and refuses a text beyond 200 of them without a line.
 * How deep a text may be nested is checked before (LuaParser.swift), so here the parser only must not exhaust the stack.
 *
 * The linker puts __wrap_luaE_incCstack in the place of luaE_incCstack (lstate.c), which only the parser calls (Package.swift).
 */
#include <stdlib.h>

#include "Loading/loading.h"

enum { MOST_CALLS = 1500, CALLS_MASK = 0xffff, SEARCHED_BYTES = 192 };

void __real_luaE_incCstack(lua_State *L);
void __wrap_luaE_incCstack(lua_State *L);

static _Atomic size_t counter_offset;

/* Finds the counter in a state, whose layout Lua keeps to itself: one call adds 1 to it. */
void rb_find_call_counter(lua_State *L) {
  if (counter_offset) return;
  uint32_t before[SEARCHED_BYTES / 4], after[SEARCHED_BYTES / 4];
  memcpy(before, L, sizeof before);
  __real_luaE_incCstack(L);
  memcpy(after, L, sizeof after);
  for (size_t i = 0; i < SEARCHED_BYTES / 4; i++)
    if (after[i] == before[i] + 1) counter_offset = i * 4;
  if (!counter_offset) abort();
  memcpy((char *)L + counter_offset, (char *)before + counter_offset, sizeof before[0]);
}

void __wrap_luaE_incCstack(lua_State *L) {
  uint32_t *counter = (uint32_t *)((char *)L + counter_offset);
  if ((++*counter & CALLS_MASK) > MOST_CALLS) {
    *counter -= MOST_CALLS; /* for the calls of the message handler, which Lua refuses too */
    luaL_error(L, "the text is nested too deep");
  }
}
