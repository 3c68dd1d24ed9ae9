-- When somebody signs in, the attribution moves from the device to that user.

local fields = require "fields"
local subjects = require "subjects"
local conversions = require "conversions"

local linking = {}

local function tell(event, state, attribution)
  send(subjects.of_user(state.user), "attribution.linked", {
    device = event.subject, attribution = attribution, facebook = attribution and state.facebook,
    att_status = state.att_status,
  })
  state.told_status = state.att_status
end

--- Moves the attribution to the user. The device keeps whether it was Facebook's, its user, and what AppInstall needs.
function linking.link(event, state, user)
  local known = state.user == user and state.told_status == state.att_status
  if known and not state.attribution then return end
  state.user = user
  conversions.keep_for_install(state)
  tell(event, state, state.attribution)
  state.attribution = nil
end

--- The user whom the event names, nil if it names none; decides `error` if its name can't be a user.
function linking.user_of(event)
  local named = fields.data(event).user
  local user = subjects.user_id(named)
  if not user and named ~= nil and named ~= "" then decide("error", "invalid_user") end
  return user
end

--- A launch or a return to the foreground links if it says that somebody is signed in, and who.
function linking.link_if_authenticated(event, state)
  local user = linking.user_of(event)
  if user and state.authenticated then linking.link(event, state, user) end
end

--- Records the tracking status with the device's user, if it has one.
function linking.tell_status(event, state) if state.user then tell(event, state, nil) end end

return linking
