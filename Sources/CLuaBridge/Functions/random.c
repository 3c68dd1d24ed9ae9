/* `math.random`: xoshiro256**, seeded from the event. */
#include "vm.h"

static uint64_t rotate(uint64_t value, int by) { return (value << by) | (value >> (64 - by)); }

static uint64_t next_random(rb_vm *vm) {
  uint64_t *s = vm->functions.random;
  uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

void rb_seed_random(rb_vm *vm, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    vm->functions.random[i] = z ^ (z >> 31);
  }
}

int rb_math_random(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  uint64_t bits = next_random(vm);
  lua_Integer low = 1, high;
  switch (lua_gettop(L)) {
    case 0: lua_pushnumber(L, (lua_Number)(bits >> 11) * 0x1p-53); return 1;
    case 1:
      high = luaL_checkinteger(L, 1);
      if (high == 0) {
        lua_pushinteger(L, (lua_Integer)bits);
        return 1;
      }
      break;
    case 2:
      low = luaL_checkinteger(L, 1);
      high = luaL_checkinteger(L, 2);
      break;
    default: return luaL_error(L, "wrong number of arguments");
  }
  luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
  uint64_t range = (uint64_t)high - (uint64_t)low, mask = range;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  while ((bits &= mask) > range) bits = next_random(vm);
  lua_pushinteger(L, (lua_Integer)(bits + (uint64_t)low));
  return 1;
}
