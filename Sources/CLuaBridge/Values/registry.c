#include "Values/values.h"

/* Fills all fixed entries once, so that the registry puts them into its array part, then empties those that must begin empty. */
static void reserve_slots(lua_State *L) {
  for (int slot = RB_SLOT_EVENT; slot < RB_SLOTS_END; slot++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, LUA_REGISTRYINDEX, slot);
  }
  for (int slot = RB_SLOT_EVENT; slot < RB_SLOT_NAMES; slot++) {
    lua_pushnil(L);
    lua_rawseti(L, LUA_REGISTRYINDEX, slot);
  }
}

void rb_open_registry(lua_State *L) {
  reserve_slots(L);
  static const int tables[] = {RB_SLOT_RULES, RB_SLOT_WHENS,   RB_SLOT_QUERIES, RB_SLOT_WEBS,       RB_SLOT_SINKS,
                               RB_SLOT_TESTS, RB_SLOT_MODULES, RB_SLOT_PROXIES, RB_SLOT_DATA_FILES, RB_SLOT_TRACKED,
                               RB_SLOT_LEVELS, RB_SLOT_STEPS, RB_SLOT_CHECKS};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    lua_newtable(L);
    lua_rawseti(L, LUA_REGISTRYINDEX, tables[i]);
  }
}
