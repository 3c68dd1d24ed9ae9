-- Launches: the first one stores where the install came from; each decides the next screen and the conversions for
-- Meta. A return to the foreground only checks whether to ask for tracking again.

local fields = require "fields"
local deep_link = require "deep_link"
local device_info = require "device_info"
local conversions = require "conversions"
local consent = require "consent"
local screens = require "screens"
local linking = require "linking"
local sources = require "sources"

local launches = {}

local PLATFORMS = { ios = true, android = true, web = true }
local REPORTED = { ios = true, android = true } -- no conversions for the web

local function begin(state, data)
  local attribution = deep_link.attribution(data.url)
  attribution.installedAt = calendar.format(now())
  state.launched = true
  state.attribution = attribution
  state.facebook = deep_link.is_facebook(attribution)
  sources.count_install(attribution, state.facebook)
  if state.facebook and REPORTED[state.platform] then conversions.owe_install(state) end
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
  if not PLATFORMS[data.platform] then
    decide("error", "invalid_platform")
    return
  end
  local first_launch = not state.launched
  state.platform = data.platform
  state.authenticated = fields.flag(data.authenticated, state.authenticated)
  state.device = device_info.read(data.device) or state.device
  consent.seen(state, data.att_status)
  if first_launch then begin(state, data) end
  decide("first_launch", first_launch)
  decide("facebook_attribution", state.facebook)
  report(state, first_launch)
  screens.show(screens.at_launch(state))
  linking.link_if_authenticated(event, state)
end

function launches.foregrounded(event, state)
  local data = fields.data(event)
  state.authenticated = fields.flag(data.authenticated, state.authenticated)
  consent.seen(state, data.att_status)
  linking.link_if_authenticated(event, state)
  if consent.check_reprompt(state) then screens.show { screen = screens.TRACKING } end
end

return launches
