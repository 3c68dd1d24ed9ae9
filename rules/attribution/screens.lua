-- Which screen comes next. Each list is checked from the top; the first line whose condition holds wins.

local conversions = require "conversions"

local screens = {}

screens.TRACKING = "tracking-onboarding"
screens.TABS = "tabs"
screens.EMAIL_INPUT = "email-input"
screens.EMAIL_CONFIRM = "email-confirm"
screens.WELCOME = "welcome"

local function email(state)
  return state.attribution and state.attribution.email
end

--- Apple's dialog has not been answered, and an AppInstall waits for the answer.
local function must_ask(state)
  return state.platform == "ios" and conversions.install_is_owed(state)
end

local function is_signed_in(state) return state.authenticated == true end
local function has_email(state) return email(state) ~= nil end
local function otherwise() return true end

local AFTER_ANSWER = {
  { when = is_signed_in, screen = screens.TABS },
  { when = has_email, screen = screens.EMAIL_INPUT },
  { when = otherwise, screen = screens.WELCOME },
}

local AT_LAUNCH = { { when = must_ask, screen = screens.TRACKING }, table.unpack(AFTER_ANSWER) }

local function first(list, state)
  for _, line in ipairs(list) do
    if line.when(state) then
      local prefill = line.screen == screens.EMAIL_INPUT and { email = email(state) } or nil
      return { screen = line.screen, prefill = prefill }
    end
  end
end

function screens.at_launch(state) return first(AT_LAUNCH, state) end

function screens.after_answer(state) return first(AFTER_ANSWER, state) end

--- Decides the screen and its contents.
function screens.show(next)
  decide("screen", next.screen)
  if next.prefill then decide("prefill", next.prefill) end
end

return screens
