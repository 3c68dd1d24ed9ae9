-- The next screen: that of the first line in screens.json for the event whose conditions hold.

local conversions = require "conversions"
local fields = require "fields"
local routes = require "routes"

local screens = {}

local FILE = "screens.json"
local SCREENS = data("screens.json")
local NAMES = {
  "app.launched", "att.answered", "user.authenticated", "email.submitted", "reprompt", "reprompt.answered",
}

fields.check_members(FILE, SCREENS, { "facts", "flows" })
fields.check_members(FILE .. ": flows", SCREENS.flows, NAMES)
local FLOWS = routes.flows(SCREENS.flows, SCREENS.facts, FILE, { "prefill" })

for _, name in ipairs(NAMES) do assert(FLOWS[name], FILE .. ": the flow '" .. name .. "' is missing") end

--- Decides the screen of a flow by facts, with the values to fill in.
function screens.decide(flow, facts, email)
  local names, line = routes.flow(FLOWS, flow, facts)
  decide("screen", names[1])
  if line.prefill and email then decide("prefill", { email = email }) end
end

--- Decides the screen of a flow by the facts about a device.
function screens.show(flow, state)
  local email = state.attribution and state.attribution.email
  screens.decide(flow, {
    signed_in = state.authenticated == true, has_email = email ~= nil,
    -- The system's dialog has not been answered, and an AppInstall waits for the answer.
    must_ask = conversions.needs_consent(state) and conversions.install_is_owed(state),
  }, email)
end

return screens
