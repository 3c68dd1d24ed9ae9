-- Asking again: after a denial, two weeks later, on iOS, to a user who is signed in.

local own = require "own"

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=x"

local function foreground(t, data) return t:event("device:d", "app.foregrounded", data or {}).decisions end

local function denied(t, more)
  local data = { platform = "ios", url = AD, authenticated = true, user = "42" }
  for name, value in pairs(more or {}) do data[name] = value end
  t:event("device:d", "app.launched", data)
  t:event("device:d", "att.answered", { status = "denied" })
end

local DUE = { reprompt = true, screen = "tracking-onboarding" }
local NOT_DUE = { reprompt = false }

test "after a denial the prompt is due after 14 times 24 hours, not a second before" (function(t)
  denied(t)
  t:advance("13d")
  t:equal(foreground(t), NOT_DUE)
  t:advance("86399s")
  t:equal(foreground(t), NOT_DUE)
  t:advance("1s")
  t:equal(foreground(t), DUE)
end)

test "the days count 24 hours, also over a change of the clocks" (function(t)
  t:at("2025-10-20T12:00:00+02:00")
  denied(t)
  t:at("2025-11-03T10:59:59+01:00")
  t:equal(foreground(t), NOT_DUE)
  t:at("2025-11-03T11:00:00+01:00")
  t:equal(foreground(t), DUE)
end)

test "the repeated prompt stays due until it is answered" (function(t)
  denied(t)
  t:advance("14d")
  t:equal(foreground(t), DUE)
  t:advance("3d")
  t:equal(foreground(t), DUE)
  t:event("device:d", "att.answered", { status = "denied" })
  t:equal(foreground(t), NOT_DUE)
  t:advance("14d")
  t:equal(foreground(t), DUE)
end)

test "the answer to a re-prompt leads to the tabs and sends no AppInstall" (function(t)
  denied(t)
  t:advance("14d")
  foreground(t)
  local outcome = t:event("device:d", "att.answered", { status = "authorized", authenticated = false })
  t:equal(outcome.decisions, { screen = "tabs" })
  t:equal(own(outcome), {})
  t:equal(foreground(t, { authenticated = true }), NOT_DUE)
end)

test "a user who is not signed in is not asked again" (function(t)
  denied(t)
  t:advance("14d")
  t:equal(foreground(t, { authenticated = false }), NOT_DUE)
  t:equal(foreground(t), NOT_DUE)
  t:equal(foreground(t, { authenticated = true }), DUE)
end)

test "only a denial is asked about again" (function(t)
  denied(t)
  t:advance("14d")
  t:equal(foreground(t, { att_status = "denied" }), DUE)
  t:equal(foreground(t, { att_status = "maybe" }), DUE)
  for _, status in ipairs { "authorized", "restricted", "not-determined" } do
    t:equal(foreground(t, { att_status = status }), NOT_DUE)
  end
end)

test "a revocation in the phone's settings counts its days from when it was seen" (function(t)
  denied(t)
  t:event("device:d", "att.answered", { status = "authorized" })
  t:advance("100d")
  t:equal(foreground(t, { att_status = "denied" }), NOT_DUE)
  t:advance("13d")
  t:equal(foreground(t, { att_status = "denied" }), NOT_DUE)
  t:advance("1d")
  t:equal(foreground(t, { att_status = "denied" }), DUE)
end)

test "a denial that the phone reports again is the one that was answered" (function(t)
  denied(t)
  t:advance("10d")
  t:equal(foreground(t, { att_status = "denied" }), NOT_DUE)
  t:advance("4d")
  t:equal(foreground(t), DUE)
end)

test "a cold start asks again as a return to the foreground does" (function(t)
  denied(t)
  t:advance("14d")
  local function launch() return t:event("device:d", "app.launched", { platform = "ios" }).decisions end
  t:equal({ launch().reprompt, launch().screen }, { true, "tracking-onboarding" })
  t:equal(t:event("device:d", "att.answered", { status = "denied" }).decisions, { screen = "tabs" })
  t:equal({ launch().reprompt, launch().screen }, { false, "tabs" })
end)

test "the statuses that are asked about again are a setting, and the events that check it" (function(t)
  t:settings { reprompt_statuses = { "denied", "restricted" }, reprompt_on = { "app.foregrounded", "book.bought" } }
  t:event("device:d", "app.launched", { platform = "ios", authenticated = true, att_status = "restricted" })
  t:advance("14d")
  t:equal(foreground(t), DUE)
  t:equal(t:event("device:d", "book.bought", {}).decisions, DUE)
  local launched = t:event("device:d", "app.launched", { platform = "ios" }).decisions
  t:equal({ launched.reprompt, launched.screen }, { nil, "tabs" })
  t:equal(t:event("device:d", "user.authenticated", { user = "42" }).decisions, { screen = "tabs" })
  t:equal(t:event("device:d", "att.answered", { status = "denied", authenticated = false }).decisions.screen, "tabs")
end)

test "Android, the web and an unknown device are never asked again" (function(t)
  for _, platform in ipairs { "android", "web" } do
    local device = "device:" .. platform
    t:event(device, "app.launched", { platform = platform, url = AD, authenticated = true, att_status = "denied" })
    t:event(device, "att.answered", { status = "denied" })
    t:advance("15d")
    t:equal(t:event(device, "app.foregrounded", {}).decisions, NOT_DUE)
  end
  t:equal(t:event("device:new", "app.foregrounded", { authenticated = true, att_status = "denied" }).decisions, NOT_DUE)
end)

test "a denial first seen without a prompt counts from when it was seen" (function(t)
  t:event("device:d", "app.launched", { platform = "ios", authenticated = true, att_status = "denied" })
  t:advance("10d")
  t:equal(foreground(t, { att_status = "denied" }), NOT_DUE)
  t:advance("4d")
  t:equal(foreground(t, { att_status = "denied" }), DUE)
  t:equal(t:query("device:d", "tracking").prompted_at, json.null)
end)

test "a denial that was withdrawn and repeated counts as first seen again" (function(t)
  t:event("device:d", "app.launched", { platform = "ios", authenticated = true, att_status = "denied" })
  t:advance("10d")
  foreground(t, { att_status = "authorized" })
  foreground(t, { att_status = "denied" })
  t:advance("13d")
  t:equal(foreground(t), NOT_DUE)
  t:advance("1d")
  t:equal(foreground(t), DUE)
end)

test "a user without Facebook attribution is asked again too" (function(t)
  denied(t, { url = "boss://open" })
  t:advance("14d")
  t:equal(foreground(t), DUE)
end)

test "signing in asks again if it is due, and that screen wins" (function(t)
  denied(t, { authenticated = false })
  t:advance("14d")
  t:equal(t:event("device:d", "user.authenticated", { user = "42" }).decisions, DUE)
end)

test "the days between two prompts are a setting" (function(t)
  t:settings { reprompt_days = 1 }
  denied(t)
  t:advance("1d")
  t:equal(foreground(t), DUE)
end)

test "the tracking query returns what is allowed, and the times of the last and the next prompt" (function(t)
  t:at("2025-11-10T12:00:00Z")
  denied(t)
  t:equal(t:query("device:d", "attribution.tracking"), {
    advertiserTrackingEnabled = false, applicationTrackingEnabled = true, att_status = "denied",
    prompted_at = "2025-11-10T12:00:00.000Z", next_prompt_at = "2025-11-24T12:00:00.000Z",
  })
  t:event("device:d", "att.answered", { status = "authorized" })
  local tracking = t:query("device:d", "attribution.tracking")
  t:equal({ tracking.advertiserTrackingEnabled, tracking.next_prompt_at }, { true, json.null })
end)

test "the tracking query on Android, on the web and without data" (function(t)
  t:event("device:a", "app.launched", { platform = "android" })
  t:event("device:w", "app.launched", { platform = "web", att_status = "authorized" })
  t:equal(t:query("device:a", "tracking").advertiserTrackingEnabled, true)
  t:equal(t:query("device:w", "tracking").advertiserTrackingEnabled, false)
  local nothing = {
    advertiserTrackingEnabled = false, applicationTrackingEnabled = true, att_status = json.null,
    prompted_at = json.null, next_prompt_at = json.null,
  }
  t:equal(t:query("device:nobody", "tracking"), nothing)
  t:equal(t:query(nil, "tracking"), nothing)
end)
