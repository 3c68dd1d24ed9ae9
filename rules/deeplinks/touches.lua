-- The first and the last link that brought a device; they go to the backend when a user signs in.

local fields = require "fields"

local touches = {}

--- The members of a touch, each with its link parameter.
local MEMBERS = {
  source = "utm_source",
  medium = "utm_medium",
  campaign = "utm_campaign",
  content = "utm_content",
  term = "utm_term",
}

--- Stores the last touch, and once ever the first. Returns whether this was the first.
function touches.record(state, parameters, path)
  local touch = { landing_path = path, timestamp = calendar.format(now()) }
  for member, parameter in pairs(MEMBERS) do touch[member] = parameters[parameter] end
  local first = state.first_touch == nil
  if first then state.first_touch = touch end
  state.last_touch = touch
  return first
end

local function shown(touch)
  if not touch then return json.null end
  local whole = { landing_path = touch.landing_path, timestamp = touch.timestamp }
  for member in pairs(MEMBERS) do whole[member] = fields.or_null(touch[member]) end
  return whole
end

function touches.answer(state)
  state = state or {}
  return { first_touch = shown(state.first_touch), last_touch = shown(state.last_touch) }
end

function touches.authenticated(_, state)
  decide("attribution", touches.answer(state))
end

return touches
