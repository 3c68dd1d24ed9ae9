-- The actions of the settings: their events, the conditions under which they make sense, their repeats.
local fields = require "fields"
local telling = require "telling"

local catalogue = { types = {}, actions = {} } -- the types of events, and by each the action

local RANGES = settings.ranges
local label, kind_of = fields.label, math.type
local MANY = { lowest = 1, highest = 1000000 } -- how many times one event may earn, whatever `ranges` says
local LONGEST, DAY = 100, 86400 -- bytes of a thing's name; seconds

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

--- Whether the action was done with the same thing before: since the last renewal, where some action renews.
function catalogue.is_repeat(state, action, data)
  local thing = label(data[action.unique], LONGEST)
  if thing == nil or renews and not state.round then return false end
  return not once(action.earns .. ":" .. (state.round or 0) .. ":" .. thing, settings.unique_days * DAY)
end

return catalogue
