-- Figures that count each user once. The user's own state holds the counts so far (last active day, levels,
-- steps reached), so the shared counters need no subject.

local fields   = require "fields"
local measures = require "measures"
local periods  = require "periods"
local plan     = require "plan"
local sums     = require "sums"

local people = {}

local name_of = fields.name

--- The steps of a ladder that the plan lists, lowest first; a user who reaches one has reached those below.
function people.steps(ladder)
  local steps = {}
  for i, step in ipairs(plan.events[ladder.event][ladder.property].values) do steps[i] = name_of(step) end
  return steps
end

-- Active today: counts today, and in the look-back windows of the following days that no earlier day has counted in,
-- however long the windows were then.
local function count_window(state, last, today)
  local more = settings.active_window_days - 1
  local counted = state.counted_till or last and last + more
  for day = today, today + more do
    if not last or day < last or day > counted then periods.add_to_day(sums.users, "wau", day) end
  end
  state.counted_till = math.max(counted or 0, today + more)
end

local function count_return(cohort, today)
  for _, after in ipairs(settings.retention_days) do
    if today - cohort == after then periods.add(sums.cohorts, "retained." .. after, cohort) end
  end
end

local function first_of_day(state, today)
  local last = state.active
  if last == today then return end
  state.active, state.levels_counted = today, nil
  periods.add_to_day(sums.users, "dau", today)
  count_window(state, last, today)
  if not last then periods.add(sums.cohorts, "installs", state.cohort) end
  count_return(state.cohort, today)
  for switch in pairs(state.off or {}) do periods.add(sums.figures, "off." .. switch, today) end
  for ladder, steps in pairs(state.reached or {}) do
    for step in pairs(steps) do periods.add(sums.figures, "active." .. ladder .. "." .. step, today) end
  end
end

-- Switching off counts for the day; switching on again undoes it.
local function toggle(state, today, switch, is_off)
  state.off = state.off or {}
  if is_off == (state.off[switch] == true) then return end
  state.off[switch] = is_off or nil
  periods.add(sums.figures, (is_off and "off." or "on_again.") .. switch, today)
end

-- A level counts on the day it is reported and on the next; each step once a day.
local function count_level(state, today, name, of)
  local level = state.levels and state.levels[name]
  if not level or level.day < today - 1 then return end
  local counted = state.levels_counted or {}
  state.levels_counted = counted
  for _, step in ipairs(of.steps) do
    if level.n >= step and step > (counted[name] or 0) then
      periods.add(sums.figures, "level." .. name .. "." .. step, today)
      counted[name] = step
    end
  end
end

local function reach(state, today, ladder, step)
  local reached = state.reached[ladder] or {}
  state.reached[ladder] = reached
  if reached[step] then return end
  reached[step] = true
  local figure = ladder .. "." .. step
  periods.add_ever(sums.reached, figure)
  periods.add(sums.reached, figure, today)
  periods.add(sums.figures, "active." .. figure, today)
end

local function climb(state, today, name, ladder, step)
  state.reached = state.reached or {}
  local steps = people.steps(ladder)
  if not fields.is_one_of(step, steps) then return reach(state, today, name, step) end
  for _, below in ipairs(steps) do
    reach(state, today, name, below)
    if below == step then break end
  end
end

--- Counts the user of an accepted report.
function people.note(state, name, properties, today)
  first_of_day(state, today)
  for level, of in pairs(measures.levels) do
    if name == of.event then
      state.levels = state.levels or {}
      state.levels[level] = { n = properties[of.property], day = today }
    end
    count_level(state, today, level, of)
  end
  for switch, of in pairs(measures.switches) do
    if name == of.event then toggle(state, today, switch, properties[of.property] == of.off) end
  end
  for ladder, of in pairs(measures.ladders) do
    if name == of.event then climb(state, today, ladder, of, name_of(properties[of.property])) end
  end
end

return people
