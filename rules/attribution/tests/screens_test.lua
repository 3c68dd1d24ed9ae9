-- Which screen comes: on a launch, after an answer, after an email, after signing in.

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=x"
local AD_WITH_EMAIL = AD .. "&email=user@example.com"
local MAIL = "https://discovery.ozma.io/go-app/the-boss?email=user@example.com"

local function launch(t, data) return t:event("device:d", "app.launched", data).decisions end

test "iOS from a Facebook ad, not asked yet: the tracking screen" (function(t)
  local decided = launch(t, { platform = "ios", url = AD_WITH_EMAIL, att_status = "not-determined" })
  t:equal(decided.screen, "tracking-onboarding")
  t:equal(decided.prefill, nil)
end)

test "no att_status on iOS means not asked yet" (function(t)
  t:equal(launch(t, { platform = "ios", url = AD }).screen, "tracking-onboarding")
end)

test "the tracking screen is shown before the tabs" (function(t)
  t:equal(launch(t, { platform = "ios", url = AD, authenticated = true }).screen, "tracking-onboarding")
end)

test "the tracking screen is shown on each launch until it is answered" (function(t)
  launch(t, { platform = "ios", url = AD })
  t:equal(launch(t, { platform = "ios" }).screen, "tracking-onboarding")
  t:event("device:d", "att.answered", { status = "authorized" })
  t:equal(launch(t, { platform = "ios" }).screen, "welcome")
end)

test "iOS from a Facebook ad, already determined: no tracking screen" (function(t)
  for i, status in ipairs { "authorized", "denied", "restricted" } do
    local data = { platform = "ios", url = AD_WITH_EMAIL, att_status = status }
    t:equal(t:event("device:" .. i, "app.launched", data).decisions.screen, "email-input")
  end
end)

test "iOS without a Facebook ad: no tracking screen" (function(t)
  t:equal(launch(t, { platform = "ios", url = MAIL, att_status = "not-determined" }).screen, "email-input")
end)

test "Android and web never see the tracking screen" (function(t)
  t:equal(launch(t, { platform = "android", url = AD, att_status = "not-determined" }).screen, "welcome")
  local web = t:event("device:w", "app.launched", { platform = "web", url = AD_WITH_EMAIL })
  t:equal(web.decisions.screen, "email-input")
end)

test "signed in: the tabs, even with an email in the link" (function(t)
  local decided = launch(t, { platform = "android", url = AD_WITH_EMAIL, authenticated = true })
  t:equal(decided.screen, "tabs")
  t:equal(decided.prefill, nil)
end)

test "an email in the link: the email screen, filled in as written" (function(t)
  local decided = launch(t, { platform = "android", url = AD .. "&email=User%40Example.com" })
  t:equal(decided.screen, "email-input")
  t:equal(decided.prefill, { email = "User@Example.com" })
end)

test "a later launch still fills in the email of the first" (function(t)
  launch(t, { platform = "android", url = MAIL })
  t:equal(launch(t, { platform = "android" }).prefill, { email = "user@example.com" })
end)

test "nothing known: the welcome screen" (function(t)
  local decided = launch(t, { platform = "ios" })
  t:equal({ decided.screen, decided.prefill }, { "welcome" })
end)

test "without `authenticated`, the last value applies" (function(t)
  launch(t, { platform = "android", authenticated = true })
  t:equal(launch(t, { platform = "android" }).screen, "tabs")
  t:equal(launch(t, { platform = "android", authenticated = "no" }).screen, "tabs")
  t:equal(launch(t, { platform = "android", authenticated = false }).screen, "welcome")
  t:equal(launch(t, { platform = "android" }).screen, "welcome")
end)

local function answer(t, data)
  data.status = data.status or "denied"
  return t:event("device:d", "att.answered", data).decisions
end

test "after the answer: the tabs when signed in" (function(t)
  launch(t, { platform = "ios", url = AD_WITH_EMAIL })
  t:equal(answer(t, { authenticated = true }), { screen = "tabs" })
end)

test "after the answer: the email screen with the link's email" (function(t)
  launch(t, { platform = "ios", url = AD_WITH_EMAIL })
  t:equal(answer(t, { authenticated = false }), { screen = "email-input", prefill = { email = "user@example.com" } })
end)

test "after the answer: welcome without an email" (function(t)
  launch(t, { platform = "ios", url = AD, authenticated = false })
  t:equal(answer(t, {}), { screen = "welcome" })
end)

test "the answer knows from the launch whether the user is signed in" (function(t)
  launch(t, { platform = "ios", url = AD_WITH_EMAIL, authenticated = true })
  t:equal(answer(t, {}), { screen = "tabs" })
end)

test "an address leads to its confirmation" (function(t)
  local outcome = t:event("device:d", "email.submitted", { email = "user@example.com" })
  t:equal(outcome.decisions, { screen = "email-confirm" })
  t:equal(t:state("device:d"), {})
end)

test "no address leads back to the email screen" (function(t)
  for _, email in ipairs { "", "user", "a@b", "a b@c.d", 7, true } do
    local outcome = t:event("device:d", "email.submitted", { email = email })
    t:equal(outcome.decisions, { screen = "email-input", error = "invalid_email" })
  end
  t:equal(t:event("device:d", "email.submitted", {}).decisions.error, "invalid_email")
end)

test "signing in leads to the tabs" (function(t)
  launch(t, { platform = "ios", url = AD })
  t:equal(t:event("device:d", "user.authenticated", { user = "42" }).decisions, { screen = "tabs", reprompt = false })
  t:equal(launch(t, { platform = "android" }).screen, "tabs")
end)
