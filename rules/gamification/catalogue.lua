-- The actions of the settings: their events, the conditions under which they make sense, their repeats.
local fields = require "fields"
local subjects = require "subjects"
local telling = require "telling"

local catalogue = { types = {}, actions = {} } -- the types of events, and by each the action

local RANGES = settings.ranges
local label, kind_of, is_device = fields.label, math.type, subjects.is_device
local MANY = { lowest = 1, highest = 1000000 } -- how many times one event may earn, whatever `ranges` says
local LONGEST, MOST = 100, 100 -- bytes of a thing's name; things of an action that a device tells
local KNOWN, LAST_ROUND = settings.unique_days * 86400, 1 << 53

local renews = false -- whether some action makes things new again

local function makes_sense() end

-- A function that looks at a member of the data, and then at the others: the first with which an action makes no sense.
local function judging(name, is_needed, is_thing, range, others)
  local lowest, highest = range and range.lowest, range and range.highest or math.huge
  return function(data)
    local value = data[name]
    if value == nil then
      if is_needed then return name end
    elseif not lowest then
      if value == "" or is_thing and not label(value, LONGEST) then return name end
    elseif not kind_of(value) or value < lowest or value > highest or value % 1 ~= 0 then
      return name
    end
    return others(data)
  end
end

-- The functions that judge an action's data: the members that it needs, that have a range, or that must be new.
local function judge_of(action)
  local judge = makes_sense
  local function add(name, is_needed)
    local range, is_thing = RANGES[name], name == action.unique
    if is_needed or range or is_thing then judge = judging(name, is_needed, is_thing, range, judge) end
  end
  for _, name in ipairs(action.with or {}) do add(name, false) end
  for _, name in ipairs(action.needs or {}) do add(name, true) end
  if action.unique then add(action.unique, false) end
  if action.each then
    add(action.each, true)
    judge = judging(action.each, true, false, MANY, judge)
  end
  return judge
end

for place, action in ipairs(settings.actions) do
  local known = { nonsense = judge_of(action), with = {} }
  for key, value in pairs(action) do known[key] = value end
  known.tells = action.tells and telling(action.tells)
  catalogue.types[place], catalogue.actions[action.on] = action.on, known
  renews = renews or action.renews
end

-- Marks a thing as done in a round, between two renewals. True the first time.
local function mark(earns, round, thing) return once(earns .. ":" .. (round or 0) .. ":" .. thing, KNOWN) end

-- A device keeps what it was done with, for the user who signs in.
local function keep(state, earns, thing)
  state.things = state.things or {}
  local done = state.things[earns] or array {}
  done[#done + 1] = thing
  if #done > MOST then table.remove(done, 1) end
  state.things[earns] = done
end

--- Whether the action was done with the same thing before: since the last renewal, where some action renews.
function catalogue.is_repeat(state, event, action, data)
  local earns, thing = action.earns, label(data[action.unique], LONGEST)
  if thing == nil or renews and not state.round then return false end
  if not mark(earns, state.round, thing) then return true end
  if is_device(event) then keep(state, earns, thing) end
  return false
end

--- Begins a round, in which all things are new. No two have the same number, whoever's they are.
function catalogue.renew(state, event)
  state.round, state.things = math.random(LAST_ROUND), nil
  if is_device(event) then state.has_renewed = true end
end

--- Takes out of a device's state what its user has to know of things, and keeps the number of the round.
function catalogue.leave(state)
  local known = { round = state.round, things = state.things, has_renewed = state.has_renewed }
  state.things, state.has_renewed = nil, nil
  return known
end

--- The deeds of a device are known. Their round is the user's, if it began there since the sign-in before.
function catalogue.join(state, known)
  if known.has_renewed or not state.round then state.round = known.round end
  for earns, done in pairs(known.things or {}) do
    for _, thing in ipairs(done) do mark(earns, known.round, thing) end
  end
end

return catalogue
