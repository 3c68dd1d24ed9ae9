-- From the device to the user: once somebody is signed in, the attribution belongs to them and leaves the device.

local told = require "told"
local subjects = require "subjects"
local conversions = require "conversions"

local linking = {}

local function tell(event, state, attribution)
  send(subjects.of_user(state.user), "attribution.linked", {
    device = event.subject,
    attribution = attribution,
    facebook = attribution and state.facebook,
    att_status = state.att_status,
  })
  state.told_status = state.att_status
end

--- Gives the attribution to the user. What stays: that it was Facebook's, whose device it is, what AppInstall needs.
function linking.link(event, state, user)
  local known = state.user == user and state.told_status == state.att_status
  if known and not state.attribution then return end
  state.user = user
  conversions.keep_for_install(state)
  tell(event, state, state.attribution)
  state.attribution = nil
end

--- A launch or a return to the foreground links when somebody is signed in and named.
function linking.link_if_authenticated(event, state)
  local user = subjects.user_id(told.data(event).user)
  if user and state.authenticated then linking.link(event, state, user) end
end

--- Records the tracking status on the user, when there is one.
function linking.tell_status(event, state)
  if state.user then tell(event, state, nil) end
end

return linking
