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

local function status(state) return state.att_status or conversions.needs_consent(state) and "not-determined" or nil end

local function is_asked_again(state) return fields.is_one_of(status(state), settings.reprompt_statuses) end

--- Records the status that a launch or a return to the foreground reports. A change counts from when it is seen.
function consent.seen(state, reported)
  if not DETERMINED[reported] and reported ~= "not-determined" or reported == state.att_status then return end
  state.att_status = reported
  state.denied_at = is_asked_again(state) and now() or nil
end

--- Whether there is nothing to ask: where no consent is needed, and else once the status is determined.
function consent.is_settled(state)
  return not conversions.needs_consent(state) or DETERMINED[status(state)] == true
end

function consent.allows_tracking(state)
  if not conversions.needs_consent(state) then return conversions.are_told(state) end
  return status(state) == "authorized"
end

-- The beginning of the asking: a denial that was seen since the last prompt, or else that prompt.
local function denied_at(state) return is_asked_again(state) and (state.denied_at or state.prompted_at) or nil end

--- Decides `reprompt`, and the screen if it is due; it stays due until it is answered.
function consent.ask_again(_, state)
  local due = conversions.needs_consent(state) and state.authenticated == true
    and reprompt.due(state, PROMPTS, now(), denied_at(state))
  state.reprompting = due or nil
  decide("reprompt", due)
  if due then screens.show("reprompt", state) end
end

function consent.answered(event, state)
  local answer = fields.data(event).status
  if not DETERMINED[answer] then return decide("error", "invalid_status") end
  linking.hear(event, state)
  state.att_status, state.denied_at = answer, nil
  reprompt.asked(state, PROMPTS, now())
  if conversions.install_is_owed(state) then conversions.pay_install(state, consent.allows_tracking(state)) end
  linking.tell_answer(event, state)
  screens.show(state.reprompting and "reprompt.answered" or event.type, state)
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
