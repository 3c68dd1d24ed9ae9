-- Which screen comes next: the first line of a flow whose conditions hold.

local conversions = require "conversions"
local routes = require "routes"

local screens = {}

local FLOWS = {
  answer = {
    { when = { signed_in = true }, screens = { "tabs" } }, { when = { has_email = true }, screens = { "email-input" } },
    { screens = { "welcome" } },
  },
}
FLOWS.launch = { { when = { must_ask = true }, screens = { "tracking-onboarding" } }, table.unpack(FLOWS.answer) }

--- Decides the screen of a flow, and its contents.
function screens.show(flow, state)
  local email = state.attribution and state.attribution.email
  local screen = routes.flow(FLOWS, flow, {
    signed_in = state.authenticated == true, has_email = email ~= nil,
    -- Apple's dialog has not been answered, and an AppInstall waits for the answer.
    must_ask = state.platform == "ios" and conversions.install_is_owed(state),
  })[1]
  decide("screen", screen)
  if screen == "email-input" then decide("prefill", { email = email }) end
end

return screens
