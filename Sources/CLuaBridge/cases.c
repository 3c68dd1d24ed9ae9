/* The parts of a test's `t` that are written in Lua: cases, properties, and outcomes that tell whether a test read their failures. */
#include "bridge.h"

static const char text[] =
    "local t, host = ...\n"
    "local function shown(value)\n"
    "  local ok, text = pcall(json.encode, value)\n"
    "  return ok and text or tostring(value)\n"
    "end\n"
    /* Puts a label into an error's message, behind its position. */
    "local function labelled(label, problem)\n"
    "  problem = tostring(problem)\n"
    "  local place, message = string.match(problem, '^(%S+:%d+: )(.*)$')\n"
    "  return (place or '') .. label .. ': ' .. (message or problem)\n"
    "end\n"
    /* Runs a function from the test's present moment on, and then returns to that moment. Returns why it failed, and whether by an error. */
    "local function try(run, ...)\n"
    "  host.mark(t)\n"
    "  local ok, problem = xpcall(run, host.note_place, ...)\n"
    "  local unexpected = host.restore(t)\n"
    "  if ok then return unexpected, false end\n"
    "  return problem, true\n"
    "end\n"
    "function t.event(_, ...)\n"
    "  local outcome = host.event(t, ...)\n"
    "  local failures = outcome.failures\n"
    "  if failures == nil or failures[1] == nil then return outcome end\n"
    "  local number = host.number(t)\n"
    "  outcome.failures = nil\n"
    "  local function read_failures(_, key)\n"
    "    if key ~= 'failures' then return nil end\n"
    "    host.expect(t, number)\n"
    "    setmetatable(outcome, nil)\n"
    "    outcome.failures = failures\n"
    "    return failures\n"
    "  end\n"
    "  return setmetatable(outcome, { __index = read_failures, __outcome = true })\n"
    "end\n"
    "function t.each(_, cases, run)\n"
    "  if type(cases) ~= 'table' or type(run) ~= 'function' then error('t:each takes a table of cases and a function', 2) end\n"
    "  local any = false\n"
    "  for name, case in pairs(cases) do\n"
    "    any = true\n"
    "    local problem, is_error = try(run, case, name)\n"
    "    if problem then\n"
    "      local label = type(name) == 'string' and 'case ' .. name or 'case ' .. tostring(name) .. ' ' .. shown(case)\n"
    "      host.raise_again(labelled(label, problem), is_error)\n"
    "    end\n"
    "  end\n"
    "  if not any then error('t:each has no cases', 2) end\n"
    "end\n"
    /* What a generator draws from. Each value is made of choices, of which 0 is the simplest, so that shrinking changes choices alone. */
    "local Random = {}\n"
    "Random.__index = Random\n"
    "local function draw(random, most)\n"
    "  local place = #random.taken + 1\n"
    "  local choice\n"
    "  if random.given then\n"
    "    choice = math.min(random.given[place] or 0, most)\n"
    "  else\n"
    "    random.state = random.state + 0x9E3779B97F4A7C15\n"
    "    local mixed = random.state\n"
    "    mixed = (mixed ~ (mixed >> 30)) * 0xBF58476D1CE4E5B9\n"
    "    mixed = (mixed ~ (mixed >> 27)) * 0x94D049BB133111EB\n"
    "    choice = ((mixed ~ (mixed >> 31)) >> 1) % (most + 1)\n"
    "  end\n"
    "  random.taken[place] = choice\n"
    "  return choice\n"
    "end\n"
    "function Random:integer(low, high)\n"
    "  if math.type(low) ~= 'integer' or math.type(high) ~= 'integer' or high < low or high - low < 0 or high - low == math.maxinteger then\n"
    "    error('random:integer takes two integers, the lower one first', 2)\n"
    "  end\n"
    "  local choice = draw(self, high - low)\n"
    "  if low >= 0 or high < 0 then return low + choice end\n"
    "  return choice <= high and choice or high - choice\n"
    "end\n"
    "function Random:number(low, high) return low + (high - low) * draw(self, 1 << 30) / (1 << 30) end\n"
    "function Random:boolean() return draw(self, 1) == 1 end\n"
    "function Random:pick(list)\n"
    "  if type(list) ~= 'table' or #list == 0 then error('random:pick takes a list that is not empty', 2) end\n"
    "  return list[1 + draw(self, #list - 1)]\n"
    "end\n"
    "function Random:list(most, make)\n"
    "  local list = array {}\n"
    "  while #list < most and draw(self, 7) > 0 do list[#list + 1] = make(self) end\n"
    "  return list\n"
    "end\n"
    "function Random:text(most)\n"
    "  local letters = {}\n"
    "  while #letters < most and draw(self, 7) > 0 do letters[#letters + 1] = utf8.char(self:pick { 97, 98, 122, 65, 48, 57, 32, 45, 46, 64, 39, 233, 8364, 128512 }) end\n"
    "  return table.concat(letters)\n"
    "end\n"
    "local function simpler(one, other)\n"
    "  if #one ~= #other then return #one < #other end\n"
    "  for place = 1, #one do\n"
    "    if one[place] ~= other[place] then return one[place] < other[place] end\n"
    "  end\n"
    "  return false\n"
    "end\n"
    "function t.property(_, runs, generate, check)\n"
    "  if math.type(runs) ~= 'integer' or runs < 1 or type(generate) ~= 'function' or type(check) ~= 'function' then\n"
    "    error('t:property takes a number of runs, a generator and a function', 2)\n"
    "  end\n"
    "  local seed = host.seed(t)\n"
    "  local function attempt(run, given)\n"
    "    local random = setmetatable({ state = seed * 1000003 + run, given = given, taken = {} }, Random)\n"
    "    local value\n"
    "    local problem, is_error = try(function()\n"
    "      value = generate(random)\n"
    "      check(value)\n"
    "    end)\n"
    "    return problem, random.taken, value, is_error\n"
    "  end\n"
    "  for run = 1, runs do\n"
    "    local problem, choices, value, is_error = attempt(run)\n"
    "    local steps, left = 0, 400\n"
    "    local function better(first, removed, lower)\n"
    "      if left == 0 then return false end\n"
    "      left = left - 1\n"
    "      local candidate = table.move(choices, 1, #choices, 1, {})\n"
    "      if lower then candidate[first] = candidate[first] - lower end\n"
    "      for _ = 1, removed do table.remove(candidate, first) end\n"
    "      local found, taken, simple, by_error = attempt(run, candidate)\n"
    "      if not found or not simpler(taken, choices) then return false end\n"
    "      problem, choices, value, is_error, steps = found, taken, simple, by_error, steps + 1\n"
    "      return true\n"
    "    end\n"
    "    while problem do\n"
    "      local before = steps\n"
    "      for size = 6, 1, -1 do\n"
    "        local first = 1\n"
    "        while first + size - 1 <= #choices do\n"
    "          if not better(first, size) then first = first + 1 end\n"
    "        end\n"
    "      end\n"
    "      local place = 1\n"
    "      while place <= #choices do\n"
    "        local lower = choices[place]\n"
    "        while lower > 0 and place <= #choices do\n"
    "          if lower > choices[place] or not better(place, 0, lower) then lower = lower // 2 end\n"
    "        end\n"
    "        place = place + 1\n"
    "      end\n"
    "      if steps == before or left == 0 then\n"
    "        host.raise_again(labelled(string.format('the property fails for %s (run %d of %d, simplified %d times; to repeat: --seed %d)',\n"
    "          shown(value), run, runs, steps, seed), problem), is_error)\n"
    "      end\n"
    "    end\n"
    "  end\n"
    "end\n";

static int append_code(lua_State *L, const void *bytes, size_t length, void *context) {
  rb_append(rb_vm_of(L), context, bytes, length);
  return 0;
}

static const char *next_code(lua_State *L, void *context, size_t *length) {
  (void)L;
  rb_buffer **dump = context;
  if (!*dump) return NULL;
  const char *bytes = (*dump)->bytes;
  *length = (*dump)->length;
  *dump = NULL;
  return bytes;
}

/* The code is loaded without its lines, so that errors in it have the line of the test that called it. */
void rb_open_cases(lua_State *L, int driver, int host) {
  rb_buffer *dump = &rb_vm_of(L)->dump;
  dump->length = 0;
  if (luaL_loadbufferx(L, text, sizeof text - 1, "=t", "t") != LUA_OK) lua_error(L);
  lua_dump(L, append_code, dump, 1);
  lua_pop(L, 1);
  if (lua_load(L, next_code, &dump, "=t", "b") != LUA_OK) lua_error(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  lua_setupvalue(L, -2, 1);
  lua_pushvalue(L, driver);
  lua_pushvalue(L, host);
  lua_call(L, 2, 0);
}
