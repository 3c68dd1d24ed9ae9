-- The figures that accepted reports count, and the key figures made of them: figures.json, which is checked at load.

local fields  = require "fields"
local plan    = require "plan"
local reports = require "reports"

local GROUPS = { "counts", "session_counts", "switches", "levels", "ladders", "errors", "key_figures" }

-- The figures beside those of the file, and the key figures made of them.
local COUNTED = {
  dau = true, wau = true, installs = true, sessions = true, sessions_with_errors = true, errors = true,
}
local ANSWERED = {
  dau = true, wau = true, sessions = true, sessions_per_user = true, retention = true, errors = true,
  error_impact = true, day = true, month = true, from = true, to = true,
}

local function check_members(place, of, ...) fields.check_members("figures.json: " .. place, of, { ... }) end

local function properties(place, event)
  local of = plan.events[event]
  return assert(of, "figures.json: " .. place .. ": the plan has no event '" .. tostring(event) .. "'")
end

local function property(place, event, name)
  local of = properties(place, event)[name]
  return assert(of, "figures.json: " .. place .. ": " .. event .. " has no property '" .. tostring(name) .. "'")
end

-- A property that every report has, of one of these types as it leaves.
local function given(place, event, name, types)
  local of = property(place, event, name)
  local fits = not of.optional and fields.is_one_of(of.bins and "string" or of.type, types)
  assert(fits, "figures.json: " .. place .. ": " .. event .. "." .. name .. " may be missing, or of another type")
  return of
end

-- A value of a property that a report may leave with; no other would ever count.
local function check_value(place, event, name, value)
  local is_possible = reports.may_leave(plan, property(place, event, name), value)
  assert(is_possible, "figures.json: " .. place .. ": " .. event .. "." .. name .. " is never " .. json.encode(value))
end

local function check_switch(place, of)
  check_members(place, of, "event", "property", "off")
  check_value(place, of.event, of.property, of.off)
end

-- An event that counts in a session is a report, or one that users cause. Some report has the count.
local function check_session_count(place, types, name)
  local is_told = false
  for _, of in pairs(plan.events) do is_told = is_told or of[name] and of[name].derived end
  assert(is_told, "figures.json: " .. place .. ": the plan has no derived property of that name")
  assert(fields.is_list(types), "figures.json: " .. place .. ": it is no list of events")
  for _, type in ipairs(types) do
    local is_known = plan.events[type] ~= nil
    for _, pattern in ipairs(settings.users_do) do
      is_known = is_known or tostring(type):find("^" .. pattern:gsub("%.", "%%."):gsub("%*", ".*") .. "$") ~= nil
    end
    local who = "': the plan has no such event, nor do users cause it (users_do)"
    assert(is_known, "figures.json: " .. place .. ": '" .. tostring(type) .. who)
  end
end

local function check_ladder(place, of)
  check_members(place, of, "event", "property")
  local has_steps = given(place, of.event, of.property, { "string", "int" }).values ~= nil
  assert(has_steps, "figures.json: " .. place .. ": the plan does not list " .. of.property .. "'s values, the steps")
end

local function check_level(place, of)
  check_members(place, of, "event", "property", "steps", "step")
  given(place, of.event, of.property, { "int", "double" })
  local below = 0
  for _, step in ipairs(of.steps) do
    assert(type(step) == "number", "figures.json: " .. place .. ": a step is no number")
    assert(step > below, "figures.json: " .. place .. ": the steps don't rise from above 0")
    below = step
  end
end

local function check_counts(counted, event, adds)
  properties("counts", event)
  for _, add in ipairs(adds) do
    local place = "counts." .. event .. "." .. add.figure
    check_members(place, add, "figure", "sum", "where")
    assert(not COUNTED[add.figure], "figures.json: " .. place .. ": the plugin counts that itself")
    for name, value in pairs(add.where or {}) do check_value(place, event, name, value) end
    local of = add.sum and given(place, event, add.sum, { "int", "double" })
    local is_bounded = not of or of.max and not of.open
    assert(is_bounded, "figures.json: " .. place .. ": the plan does not bound " .. tostring(add.sum))
    counted[add.figure] = true
  end
end

local function check_figure(counted, place, of)
  local figure = of.sum or of.mean or of.pct
  if type(figure) ~= "string" then
    for name, inner in pairs(of) do check_figure(counted, place .. "." .. name, inner) end
    return
  end
  check_members(place, of, of.sum and "sum" or "of", "mean", "pct")
  assert(of.sum or fields.is_list(of.of), "figures.json: " .. place .. ": 'of' is no list of figures")
  for _, name in ipairs { figure, table.unpack(of.of or {}) } do
    assert(counted[name], "figures.json: " .. place .. ": nothing counts '" .. tostring(name) .. "'")
  end
end

-- All key figures stand side by side in the answer.
local function check_names(measures)
  local taken = setmetatable({}, { __index = ANSWERED })
  for _, group in ipairs { "switches", "levels", "ladders", "key_figures" } do
    for name in pairs(measures[group]) do
      assert(not taken[name], "figures.json: " .. group .. "." .. name .. ": there is another figure of that name")
      taken[name] = true
    end
  end
end

local function read(file)
  local measures, counted = {}, { dau = true, sessions = true }
  check_members("the file", file, table.unpack(GROUPS))
  for _, group in ipairs(GROUPS) do measures[group] = file[group] or {} end
  for event, adds in pairs(measures.counts) do check_counts(counted, event, adds) end
  for name, types in pairs(measures.session_counts) do check_session_count("session_counts." .. name, types, name) end
  for name, of in pairs(measures.switches) do check_switch("switches." .. name, of) end
  for name, of in pairs(measures.levels) do check_level("levels." .. name, of) end
  for name, of in pairs(measures.ladders) do check_ladder("ladders." .. name, of) end
  if file.errors then
    check_members("errors", file.errors, "event", "type", "code", "of")
    given("errors", file.errors.event, file.errors.type, { "string" })
    given("errors", file.errors.event, file.errors.code, { "string" })
    check_figure(counted, "errors", { sum = file.errors.of })
  end
  for name, of in pairs(measures.key_figures) do check_figure(counted, "key_figures." .. name, of) end
  check_names(measures)
  return measures
end

local measures = read(data "figures.json")

--- The same of another file, for tests.
measures.read = read

return measures
