/*
 * `text.find_re`: a search with a regular expression of RE2.
 *
 * A search costs what all functions cost for the bytes that they read, and its pattern's steps. Groups may take all steps for each byte of the
 * match, which nothing interrupts, so they are charged before, and a match has at most SPLIT_STEPS of them.
 */
#include "CPattern.h"
#include "vm.h"

enum { STEPS_CHARGED = 4, SPLIT_STEPS = 4 << 20 };

static const cp_pattern *find_pattern(lua_State *L, rb_slice text) {
  rb_vm *vm = rb_vm_of(L);
  char why[256];
  rb_enter_host(vm);
  if (!vm->functions.patterns) vm->functions.patterns = cp_cache_new();
  const cp_pattern *pattern = vm->functions.patterns ? cp_find(vm->functions.patterns, text.bytes, text.length, why, sizeof why) : NULL;
  if (!vm->functions.patterns) strcpy(why, "there is no memory for it");
  rb_exit_host(vm);
  if (!pattern) luaL_error(L, "text.find_re's pattern is wrong: %s", why);
  return pattern;
}

int rb_find_re(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (lua_type(L, 1) != LUA_TSTRING) return luaL_error(L, "text.find_re's text must be a string");
  if (lua_type(L, 2) != LUA_TSTRING) return luaL_error(L, "text.find_re's pattern must be a string");
  rb_slice text = rb_check_text(L, 1), written = rb_check_text(L, 2);
  rb_charge(L, text.length);
  rb_charge(L, written.length);
  const cp_pattern *pattern = find_pattern(L, written);
  const size_t steps = cp_steps(pattern), count = cp_groups(pattern);
  rb_charge(L, steps * RB_BYTES_CHARGED);

  cp_part match, groups[CP_GROUPS];
  rb_enter_host(vm);
  cp_result result = cp_search(pattern, text.bytes, text.length, &vm->limits.expired, &match);
  rb_exit_host(vm);
  if (result == CP_STOPPED) rb_stop(L, RB_TIME);
  if (result == CP_NONE) {
    lua_pushnil(L);
    return 1;
  }
  if (count > 0) {
    size_t most = SPLIT_STEPS / steps;
    if ((size_t)(match.end - match.start) > most)
      return luaL_error(L, "text.find_re: a match of this pattern with groups may have %d bytes; leave the groups out, or search less at once",
                        (int)most);
    rb_charge(L, (size_t)(match.end - match.start) * steps / STEPS_CHARGED * RB_BYTES_CHARGED);
    rb_enter_host(vm);
    cp_split(pattern, text.bytes, text.length, match, groups);
    rb_exit_host(vm);
  }
  luaL_checkstack(L, CP_GROUPS + 2, NULL);
  lua_pushinteger(L, match.start - text.bytes + 1);
  lua_pushinteger(L, match.end - text.bytes);
  for (size_t i = 0; i < count; i++) {
    if (groups[i].start) {
      lua_pushlstring(L, groups[i].start, (size_t)(groups[i].end - groups[i].start));
    } else {
      lua_pushnil(L);
    }
  }
  return (int)count + 2;
}

bool rb_check_pattern(rb_slice text, char *why, size_t room) {
  cp_cache *cache = cp_cache_new();
  const cp_pattern *pattern = cache ? cp_find(cache, text.bytes, text.length, why, room) : NULL;
  if (!cache) strncpy(why, "there is no memory for it", room);
  if (cache) cp_cache_free(cache);
  return pattern != NULL;
}
