-- App Tracking Transparency: what the user answered, whether tracking is allowed, and when to ask again.

local conversions = require "conversions"
local fields = require "fields"
local linking = require "linking"
local reprompt = require "reprompt"
local screens = require "screens"

local consent = {}

local PROMPTS = { after = settings.reprompt_days * 24 * 60 * 60 }

--- The statuses that Apple's dialog or Settings can lead to; `not-determined` is the one before any answer.
local DETERMINED = { authorized = true, denied = true, restricted = true }

local function status(state) return state.att_status or state.platform == "ios" and "not-determined" or nil end

--- Records the status that a launch or a return to the foreground reports.
function consent.seen(state, reported)
  if not DETERMINED[reported] and reported ~= "not-determined" then return end
  state.att_status = reported
  state.denied_at = reported == "denied" and (state.denied_at or now()) or nil
end

--- Whether there is nothing to ask: true on other platforms than iOS, and on iOS once the status is determined.
function consent.is_settled(state)
  return state.platform == "android" or (state.platform == "ios" and DETERMINED[status(state)] == true)
end

function consent.allows_tracking(state)
  return state.platform == "android" or (state.platform == "ios" and status(state) == "authorized")
end

-- What the asking begins with: a denial, at the last prompt or else when it was first reported.
local function denied_at(state) return status(state) == "denied" and (state.prompted_at or state.denied_at) or nil end

--- Decides `reprompt`; it stays due until it is answered.
function consent.check_reprompt(state)
  local due = state.platform == "ios" and state.authenticated == true
    and reprompt.due(state, PROMPTS, now(), denied_at(state))
  state.reprompting = due or nil
  decide("reprompt", due)
  return due
end

function consent.answered(event, state)
  local data = fields.data(event)
  if not DETERMINED[data.status] then return decide("error", "invalid_status") end
  state.authenticated = fields.flag(data.authenticated, state.authenticated)
  state.user = linking.user_of(event) or state.user
  state.att_status = data.status
  reprompt.asked(state, PROMPTS, now())
  state.denied_at = nil
  if conversions.install_is_owed(state) then conversions.pay_install(state, consent.allows_tracking(state)) end
  linking.tell_status(event, state)
  if state.reprompting then decide("screen", "tabs") else screens.show("answer", state) end
  state.reprompting = nil
end

local function time(at) return at and calendar.format(at) or json.null end

function consent.tracking(state)
  state = state or {}
  return {
    advertiserTrackingEnabled = consent.allows_tracking(state), applicationTrackingEnabled = true,
    att_status = fields.or_null(status(state)), prompted_at = time(state.prompted_at),
    next_prompt_at = time((reprompt.next(state, PROMPTS, denied_at(state)))),
  }
end

return consent
