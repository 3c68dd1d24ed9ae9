-- The welcome: a notification at the first sign-in, its stamp whenever the user likes, or by itself after some days.
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

-- The stamp joins the collection, and its notification is settled, also one that was never opened.
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
    metrics.settle(state)
  end
  schedule(state)
end

-- The timer's day has come. One that was switched off in the meantime claims nothing.
function welcome.claim_due(state, subject)
  if welcome.pending(state) and days() > 0 then welcome.take(state, subject) end
end

return welcome
