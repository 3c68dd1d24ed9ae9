-- Derived properties: the plugin fills them in if a client leaves them out and the plan allows it.

local days     = require "days"
local sessions = require "sessions"

local from_days = {
  days_since_install   = days.since_install,
  days_since_last_open = days.since_last_open,
  time_of_day          = days.part_of_day,
  day_of_week          = days.weekday,
}

local from_session = {
  session_id               = function(session) return session.id end,
  session_duration_seconds = function(session) return math.floor(now() - session.started) end,
  screens_visited          = function(session) return session.screens end,
  -- A client reports a set as `flirts.generated`, as `flirt_generation_completed` or as both.
  flirts_generated         = function(session) return math.max(session.sets_announced, session.sets_completed) end,
}

--- Adds derived properties to a report's own where it has none.
return function(state, of, all)
  local session = sessions.open(state, all.session_id)
  for key, one in pairs(of) do
    if one.derived and (all[key] == nil or all[key] == json.null) then
      if from_days[key] then
        all[key] = from_days[key](state)
      elseif session then
        all[key] = from_session[key](session)
      end
    end
  end
end
