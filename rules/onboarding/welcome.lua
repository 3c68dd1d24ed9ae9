-- The welcome: a notification at the first sign-in; its stamp is claimed by the user, or automatically after some days.
local bell = require "bell"
local metrics = require "metrics"
local profile = require "profile"

local welcome = {}

local DAY = 86400

local function days() return settings.auto_claim_days or 0 end

local function claim_later(state)
  timer.set("welcome", math.max(now(), state.signed_up_at + days() * DAY), "welcome.claim_due", {
    plugin = plugin.name,
  })
end

-- Marks the welcome's notification as done, even if it was never opened.
function welcome.claimed(state)
  state.welcomed = true
  timer.cancel("welcome")
  bell.welcome_done(state)
end

-- A sign-in may tell the profile, so that the welcome is in the user's language.
function welcome.sign_in(state, data, event)
  profile.update(state, data)
  if not state.signed_up_at then
    state.signed_up_at = now()
    bell.add(state, event.subject, {
      type = "welcome", relatedStampId = settings.welcome_stamp, isRead = state.welcomed,
    })
    metrics.signed_up(state)
  end
  if days() > 0 and not state.welcomed then claim_later(state) end
end

-- Whether the timer's automatic claim is to be made: not, if the setting was switched off meanwhile, or has more days.
function welcome.is_due(state)
  if state.welcomed or days() <= 0 then return false end
  if now() >= state.signed_up_at + days() * DAY then return true end
  claim_later(state)
end

return welcome
