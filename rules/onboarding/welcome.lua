-- The welcome: a notification at the first sign-in; its stamp is claimed by the user, or automatically after some days.
local collection = require "collection"
local inbox = require "inbox"
local metrics = require "metrics"

local welcome = {}

local DAY = 86400

function welcome.pending(state) return not state.welcomed end

local function days() return settings.auto_claim_days or 0 end

local function schedule(state)
  if days() <= 0 or state.welcomed or timer.due("welcome") then return end
  timer.set("welcome", math.max(now(), state.signed_up_at + days() * DAY), "welcome.claim_due", {})
end

-- Adds the stamp to the collection and marks its notification as done, even if it was never opened.
function welcome.take(state, subject)
  state.welcomed = true
  timer.cancel("welcome")
  inbox.welcome_done(state)
  collection.add(state, subject, settings.welcome_stamp)
end

function welcome.sign_in(state, subject)
  if not state.signed_up_at then
    state.signed_up_at = now()
    inbox.add(state, subject, "welcome", {
      relatedStampId = settings.welcome_stamp, isRead = state.welcomed or false,
    })
    metrics.record(state)
  end
  schedule(state)
end

-- The timer for the automatic claim fired. If the setting was switched off meanwhile, nothing is claimed.
function welcome.claim_due(state, subject)
  if welcome.pending(state) and days() > 0 then welcome.take(state, subject) end
end

return welcome
