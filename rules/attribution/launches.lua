-- Launches: the first one stores where the install came from, later ones tell conversions. A launch, a return to the
-- foreground and a sign-in tell who is there, and give that user the device's attribution.

local consent = require "consent"
local conversions = require "conversions"
local deep_link = require "deep_link"
local email_address = require "email_address"
local fields = require "fields"
local linking = require "linking"
local meta = require "meta"
local screens = require "screens"
local subjects = require "subjects"

local launches = {}

--- Whether an event is one of a device, and a launch one on a platform of the settings.
function launches.is_known(event)
  local is_on_platform = event.type ~= "app.launched" or settings.platforms[fields.data(event).platform] ~= nil
  return subjects.is_device(event) and is_on_platform
end

--- Whether an event is a launch on no platform of the settings.
function launches.is_unknown(event) return subjects.is_device(event) and not launches.is_known(event) end

-- An install that is older than the rules says so: its source is not known any more.
local function is_first(state, data) return not state.launched and data.first_launch ~= false end

local function begin(state, data)
  local attribution = deep_link.attribution(data.url)
  attribution.installedAt = calendar.format(now())
  state.attribution, state.facebook = attribution, deep_link.is_facebook(attribution)
  deep_link.count_install(attribution, state.facebook)
  if state.facebook and conversions.are_told(state) then state.install_owed = true end
  if not state.facebook then log.debug("No Facebook attribution detected") end
  decide("attribution", deep_link.shown(attribution))
end

local function report(state, first_launch)
  if conversions.install_is_owed(state) then
    if consent.is_settled(state) then conversions.pay_install(state, consent.allows_tracking(state)) end
  elseif not first_launch and conversions.are_told(state) and linking.is_facebook(state) then
    conversions.send_launch(state, consent.allows_tracking(state))
  end
end

function launches.launched(event, state)
  local data = fields.data(event)
  local first_launch = is_first(state, data)
  state.launched, state.platform, state.facebook = true, data.platform, state.facebook or false
  state.device = meta.device(data.device, settings.device_bytes) or state.device
  linking.hear(event, state)
  consent.seen(state, data.att_status)
  if first_launch then begin(state, data) end
  linking.follow(event, state)
  decide("first_launch", first_launch)
  decide("facebook_attribution", state.facebook)
  report(state, first_launch)
end

--- A launch on an unknown platform stores nothing: it is an error, beside the screen that a first launch would have.
function launches.on_unknown_platform(event, state)
  local data = fields.data(event)
  decide("error", "invalid_platform")
  screens.show(event.type, {
    authenticated = fields.flag(data.authenticated, state.authenticated),
    attribution = state.attribution or is_first(state, data) and deep_link.attribution(data.url) or nil,
  })
end

function launches.foregrounded(event, state)
  linking.hear(event, state)
  consent.seen(state, fields.data(event).att_status)
  linking.follow(event, state)
end

function launches.email_submitted(event)
  local is_address = email_address.read(fields.data(event).email) ~= nil
  if not is_address then decide("error", "invalid_email") end
  screens.decide(event.type, { is_address = is_address })
end

function launches.authenticated(event, state)
  state.authenticated = true
  local user = subjects.user_in(event)
  if user then linking.link(state, user) end
end

--- The screen after a launch or a sign-in; that of a repeated prompt has been decided already, if it is due.
function launches.show(event, state) screens.show(event.type, state) end

return launches
