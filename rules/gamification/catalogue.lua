-- The actions of the settings: which events they are, when they make sense, what is a repeat.
local fields = require "fields"
local telling = require "telling"

local catalogue = { types = {}, actions = {} } -- the types of events, and by each the action

local RANGES = settings.ranges
local MANY = { lowest = 1 }
local LONGEST, DAY = 100, 86400 -- bytes of a thing's name; seconds

local renews = false -- whether some action makes things new again

-- The members of the data that decide whether the action makes sense.
local function judged_by(action)
  local members = {}
  local function judge(name, is_needed)
    local range = RANGES[name] or name == action.each and MANY
    if not (is_needed or range or name == action.unique) then return end
    local lowest, highest = range and range.lowest, range and range.highest or math.huge
    members[#members + 1] = { name = name, is_needed = is_needed, lowest = lowest, highest = highest }
  end
  for _, name in ipairs(action.with or {}) do judge(name, false) end
  for _, name in ipairs(action.needs or {}) do judge(name, true) end
  if action.unique then judge(action.unique, false) end
  if action.each then judge(action.each, true) end
  return members
end

for place, action in ipairs(settings.actions) do
  local known = { judged_by = judged_by(action) }
  for key, value in pairs(action) do known[key] = value end
  known.tells = action.tells and telling(action.tells)
  catalogue.types[place], catalogue.actions[action.on] = action.on, known
  renews = renews or action.renews
end

--- The first member of the data with which the action makes no sense, or nil.
function catalogue.nonsense(action, data)
  local members = action.judged_by
  for i = 1, #members do
    local member = members[i]
    local value, lowest = data[member.name], member.lowest
    if value == nil then
      if member.is_needed then return member.name end
    elseif not lowest then
      if not fields.label(value, LONGEST) then return member.name end
    elseif type(value) ~= "number" or value < lowest or value > member.highest or value % 1 ~= 0 then
      return member.name
    end
  end
end

--- Whether the action was done with the same thing before: since the last renewal, where some action renews.
function catalogue.is_repeat(state, action, data)
  local thing = fields.label(data[action.unique], LONGEST)
  if thing == nil or renews and not state.round then return false end
  return not once(action.earns .. ":" .. (state.round or 0) .. ":" .. thing, settings.unique_days * DAY)
end

return catalogue
