-- Signing in: an email leads to its confirmation; a user who is signed in gets the device's attribution.

local fields = require "fields"
local email_address = require "email_address"
local consent = require "consent"
local linking = require "linking"
local screens = require "screens"

local sign_in = {}

function sign_in.email_submitted(event)
  if email_address.read(fields.data(event).email) then
    screens.show { screen = screens.EMAIL_CONFIRM }
  else
    decide("error", "invalid_email")
    screens.show { screen = screens.EMAIL_INPUT }
  end
end

function sign_in.authenticated(event, state)
  state.authenticated = true
  local user = linking.user_of(event)
  if user then linking.link(event, state, user) end
  screens.show { screen = consent.check_reprompt(state) and screens.TRACKING or screens.TABS }
end

return sign_in
