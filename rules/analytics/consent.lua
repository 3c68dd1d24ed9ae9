-- Consent and deletion. Both hold even if their report fails, as for the counters, for another plugin's state, or for
-- any other reason.

local days     = require "days"
local plan     = require "plan"
local sessions = require "sessions"
local track    = require "track"

local consent = {}

-- Reports an event of the plan, if it has that event. Returns whether it was accepted.
local function report(state, event, name, properties)
  if not plan.events[name] then return false end
  local done, result = pcall(track, state, event, name, properties)
  if done then return result end
  decide("accepted", false)
  decide("reason", "failed")
  log.error("a report was lost", { report = name, why = tostring(result) })
  return false
end

--- Consent starts before its report and ends after it: the last report is that consent ended.
function consent.toggle(state, event, enabled)
  if enabled == true then
    state.consent = true
    days.first_seen(state)
  end
  local new_state = enabled
  if type(enabled) == "boolean" then new_state = enabled and "enabled" or "disabled" end
  report(state, event, "settings_analytics_toggled", { new_state = new_state })
  if enabled == false then state.consent = nil end
end

-- The points of the game, if it has any.
local function points()
  local found, game = pcall(peek, settings.game)
  local n = found and game and game.points
  return math.type(n) == "integer" and math.max(0, n) or 0
end

--- The last report is always sent and counted (with its own id if no session is open). Then everything is erased,
--- consent included. Reports that other plugins raise about the same deletion find no consent; their reason does not
--- belong in this reply, so `reason` is decided here, first.
function consent.delete(state, event)
  local session = sessions.open(state, event.source)
  local of = plan.events.settings_data_deleted
  local binned = of and of.total_points_binned and points()
  local properties = { session_id = session and session.id or uuid(), total_points_binned = binned or nil }
  if report(state, event, "settings_data_deleted", properties) then decide("reason", json.null) end
  forget()
end

return consent
