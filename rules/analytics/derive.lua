-- Derived properties: the plugin fills them in if a client leaves them out and the plan allows it.

local days     = require "days"
local measures = require "measures"
local plan     = require "plan"
local sessions = require "sessions"

local derive = {}

local from_days = {
  days_since_install   = days.since_install,
  days_since_last_open = days.since_last_open,
  time_of_day          = days.part_of_day,
  day_of_week          = days.weekday,
}

local from_session = {
  session_id               = function(session) return session.id end,
  session_duration_seconds = function(session) return math.floor(now() - session.started) end,
}

-- A client may tell the same as an event, as a report or as both: the greatest count is the one.
for key, types in pairs(measures.session_counts) do
  from_session[key] = function(session)
    local most = 0
    for _, type in ipairs(types) do most = math.max(most, session.counts[type] or 0) end
    return most
  end
end

local function derived(state, session, key, of)
  if from_days[key] then return from_days[key](state) end
  if not session or not from_session[key] then return nil end
  local value = from_session[key](session)
  return of.max and math.min(value, of.max) or value
end

--- Checks at load that the properties which the plan calls derived are.
function derive.check(events)
  for name, of in pairs(events) do
    for key, one in pairs(of) do
      local is_known = not one.derived or from_days[key] or from_session[key]
      assert(is_known, "plan.json: " .. name .. "." .. key .. ": nothing derives it")
    end
  end
end

--- Adds derived properties to a report's own where it has none.
function derive.add(state, source, of, all)
  local session = sessions.open(state, source, all.session_id)
  for key, one in pairs(of) do
    if one.derived and (all[key] == nil or all[key] == json.null) then all[key] = derived(state, session, key, one) end
  end
end

derive.check(plan.events)

return derive
