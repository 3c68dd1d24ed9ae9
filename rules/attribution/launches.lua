-- Launches: the first one stores where the install came from; each decides the next screen and conversions. A return
-- to the foreground only checks whether to ask again. Signing in gives the user the device's attribution.

local consent = require "consent"
local conversions = require "conversions"
local deep_link = require "deep_link"
local email_address = require "email_address"
local fields = require "fields"
local linking = require "linking"
local meta = require "meta"
local screens = require "screens"

local launches = {}

local PLATFORMS = { ios = true, android = true, web = true }
local REPORTED = { ios = true, android = true } -- no conversions for the web

local function begin(state, data)
  local attribution = deep_link.attribution(data.url)
  attribution.installedAt = calendar.format(now())
  state.launched, state.attribution, state.facebook = true, attribution, deep_link.is_facebook(attribution)
  deep_link.count_install(attribution, state.facebook)
  if state.facebook and REPORTED[state.platform] then state.install_owed = true end
  if not state.facebook then log.debug("No Facebook attribution detected") end
  decide("attribution", deep_link.shown(attribution))
end

local function report(state, first_launch)
  if conversions.install_is_owed(state) then
    if consent.is_settled(state) then conversions.pay_install(state, consent.allows_tracking(state)) end
  elseif state.facebook and not first_launch and REPORTED[state.platform] then
    conversions.send_launch(state, consent.allows_tracking(state))
  end
end

function launches.launched(event, state)
  local data = fields.data(event)
  if not PLATFORMS[data.platform] then return decide("error", "invalid_platform") end
  local first_launch = not state.launched
  state.platform = data.platform
  state.authenticated = fields.flag(data.authenticated, state.authenticated)
  state.device = meta.device(data.device, settings.device_bytes) or state.device
  consent.seen(state, data.att_status)
  if first_launch then begin(state, data) end
  decide("first_launch", first_launch)
  decide("facebook_attribution", state.facebook)
  report(state, first_launch)
  screens.show("launch", state)
  linking.link_if_authenticated(event, state)
end

function launches.foregrounded(event, state)
  local data = fields.data(event)
  state.authenticated = fields.flag(data.authenticated, state.authenticated)
  consent.seen(state, data.att_status)
  linking.link_if_authenticated(event, state)
  if consent.check_reprompt(state) then decide("screen", "tracking-onboarding") end
end

function launches.email_submitted(event)
  local is_address = email_address.read(fields.data(event).email)
  if not is_address then decide("error", "invalid_email") end
  decide("screen", is_address and "email-confirm" or "email-input")
end

function launches.authenticated(event, state)
  state.authenticated = true
  local user = linking.user_of(event)
  if user then linking.link(event, state, user) end
  decide("screen", consent.check_reprompt(state) and "tracking-onboarding" or "tabs")
end

return launches
