/*
 * `calendar`: the host knows the time zones. Its answer applies until the zone's offset changes, and is cached here until then.
 */
#include <math.h>

#include "vm.h"

enum { DAY = 86400 };
/* The days of the years 0 to 9999, counted from 1970-01-01. */
enum { FIRST_DAY = -719528, LAST_DAY = 2932896 };

/* The cached zone whose name is at `index`, if its offset at `time` is known; else NULL. */
static const rb_zone *known_zone(lua_State *L, lua_Number time, int index) {
  const rb_vm *vm = rb_vm_of(L);
  size_t length;
  const char *name = lua_tolstring(L, index, &length);
  for (int i = 0; i < RB_ZONES; i++) {
    const rb_zone *zone = &vm->functions.zones[i];
    if (zone->length == length && memcmp(zone->name, name, length) == 0)
      return time >= (lua_Number)zone->from && time < (lua_Number)zone->until ? zone : NULL;
  }
  return NULL;
}

/* Caches what the host answered from index `offset` on: the offset, from when it applies, and until when. */
static void remember(lua_State *L, int offset) {
  rb_vm *vm = rb_vm_of(L);
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  if (length == 0 || length > sizeof vm->functions.zones->name) return;
  rb_zone *zone = NULL;
  for (int i = 0; i < RB_ZONES; i++)
    if (vm->functions.zones[i].length == length && memcmp(vm->functions.zones[i].name, name, length) == 0) zone = &vm->functions.zones[i];
  if (!zone) zone = &vm->functions.zones[vm->functions.next_zone++ % RB_ZONES];
  zone->length = 0;
  memcpy(zone->name, name, length);
  zone->offset = lua_tointeger(L, offset);
  zone->from = lua_tointeger(L, offset + 1);
  zone->until = lua_tointeger(L, offset + 2);
  zone->length = length;
}

/* Writes that many digits of a number; returns the place behind them. */
static char *write_digits(char *at, int count, lua_Integer value) {
  for (int i = count - 1; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
  return at + count;
}

/* Pushes the date of a day as YYYY-MM-DD, without its last `omitted` characters: years of 365.2425 days that begin on 1 March, by Howard
   Hinnant's chrono-Compatible Low-Level Date Algorithms. */
static void push_date(lua_State *L, lua_Integer day, size_t omitted) {
  lua_Integer since = day + 719468, era = (since >= 0 ? since : since - 146096) / 146097, of_era = since - era * 146097;
  lua_Integer year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  lua_Integer of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100), from_march = (5 * of_year + 2) / 153;
  lua_Integer month = from_march < 10 ? from_march + 3 : from_march - 9, year = era * 400 + year_of_era + (month <= 2);
  char text[sizeof "-10000-00-00"], *at = text;
  if (year < 0) *at++ = '-';
  at = write_digits(at, year > 9999 ? 5 : 4, year < 0 ? -year : year);
  *at++ = '-';
  at = write_digits(at, 2, month);
  *at++ = '-';
  at = write_digits(at, 2, of_year - (153 * from_march + 2) / 5 + 1);
  lua_pushlstring(L, text, (size_t)(at - text) - omitted);
}

/* The offset of the zone at 2 at the time at 1: the cached one, or the host's answer, which may be a refusal. */
static lua_Integer offset_of_zone(lua_State *L) {
  if (lua_type(L, 1) == LUA_TNUMBER && lua_type(L, 2) == LUA_TSTRING) {
    const rb_zone *zone = known_zone(L, lua_tonumber(L, 1), 2);
    if (zone) return zone->offset;
  }
  int offset = lua_gettop(L) + 1;
  rb_call_host(L, RB_CALL_CALENDAR_OFFSET, 1);
  remember(L, offset);
  return lua_tointeger(L, offset);
}

typedef enum { PART_DAY, PART_DATE, PART_MONTH, PART_HOUR, PART_WEEKDAY } civil_part;

/* A part of the civil time in a zone at a time. Upvalue: which one. */
static int calendar_part(lua_State *L) {
  lua_Integer local = offset_of_zone(L);
  local += (lua_Integer)floor(lua_tonumber(L, 1));
  lua_Integer day = local / DAY - (local % DAY < 0);
  switch ((civil_part)lua_tointeger(L, lua_upvalueindex(1))) {
    case PART_DAY: lua_pushinteger(L, day); break;
    case PART_DATE: push_date(L, day, 0); break;
    case PART_MONTH: push_date(L, day, strlen("-00")); break;
    case PART_HOUR: lua_pushinteger(L, (local - day * DAY) / 3600); break;
    case PART_WEEKDAY: lua_pushinteger(L, (day % 7 + 10) % 7 + 1); break;
  }
  return 1;
}

static int calendar_add(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  rb_slice amount = rb_encode_result(L, 2, RB_KIND_ERROR, "amount");
  lua_pushlstring(L, amount.bytes, amount.length);
  lua_replace(L, 2);
  return rb_call_host(L, RB_CALL_CALENDAR_ADD, 1);
}

static int calendar_known(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) return rb_call_host(L, RB_CALL_CALENDAR_KNOWN, 1);
  lua_pushboolean(L, false);
  return 1;
}

static bool is_date(const char *text, size_t length) {
  if (length != 10 || text[4] != '-' || text[7] != '-') return false;
  for (size_t i = 0; i < length; i++)
    if (i != 4 && i != 7 && (text[i] < '0' || text[i] > '9')) return false;
  int year = (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0';
  int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
  bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  int days = month == 2 ? 28 + is_leap : 30 + (month + (month > 7)) % 2;
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

/* Whether the array at 2 holds the date at 3. */
static bool is_holiday(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  int holidays = rb_push_store(L, 2) ? lua_gettop(L) : 2;
  lua_Unsigned count = lua_rawlen(L, holidays);
  rb_charge(L, count * RB_BYTES_CHARGED);
  lua_pushnil(L);
  if (count == 0 && lua_next(L, holidays)) return luaL_error(L, "holidays are a list of dates, such as { \"2025-12-25\" }");
  for (lua_Unsigned i = 1; i <= count; i++) {
    size_t length;
    const char *date = lua_rawgeti(L, holidays, (lua_Integer)i) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
    if (!date || !is_date(date, length)) return luaL_error(L, "holidays[%I] is no date like \"2025-12-25\"", (lua_Integer)i);
    if (lua_rawequal(L, -1, 3)) return true;
    lua_pop(L, 1);
  }
  return false;
}

static int calendar_workday(lua_State *L) {
  lua_Number number = luaL_checknumber(L, 1);
  if (number != floor(number) || !(number >= FIRST_DAY && number <= LAST_DAY))
    return luaL_error(L, "there is no calendar for day %f; calendar.day(t, zone) is the day of a time", number);
  lua_Integer day = (lua_Integer)number;
  lua_settop(L, 2);
  bool is_weekday = (day % 7 + 10) % 7 < 5;
  if (is_weekday && !lua_isnil(L, 2)) {
    push_date(L, day, 0);
    is_weekday = !is_holiday(L);
  }
  lua_pushboolean(L, is_weekday);
  return 1;
}

void rb_open_calendar(lua_State *L) {
  static const luaL_Reg plain[] = {{"add", calendar_add}, {"known", calendar_known}, {"workday", calendar_workday}, {NULL, NULL}};
  static const rb_closure asks[] = {{"day", calendar_part, PART_DAY},
                                    {"date", calendar_part, PART_DATE},
                                    {"month", calendar_part, PART_MONTH},
                                    {"hour", calendar_part, PART_HOUR},
                                    {"weekday", calendar_part, PART_WEEKDAY},
                                    {"start", NULL, RB_CALL_CALENDAR_START},
                                    {"week", NULL, RB_CALL_CALENDAR_WEEK},
                                    {"at", NULL, RB_CALL_CALENDAR_AT},
                                    {"parse", NULL, RB_CALL_CALENDAR_PARSE},
                                    {"format", NULL, RB_CALL_CALENDAR_FORMAT},
                                    {0}};
  rb_add_table(L, "calendar", plain, asks);
}
