-- The data of a launch: known platforms, and valid emails.

local own = require "own"

local LINK = "https://discovery.ozma.io/go-app/the-boss?"

local function launch(t, link)
  return t:event("device:d", "app.launched", { platform = "web", url = link }).decisions
end

local function attribution(t, query) return launch(t, LINK .. query).attribution end

local ADDRESSES = { "a@b.c", "User%40Example.com", "m%C3%BCller@b%C3%BCcher.example", "a.b+c@mail.example.co" }
local NO_ADDRESSES = {
  "a", "@b.c", "a@", "a@b", "a@@b.c", "a@b@c.d", "a@.c", "a@b.", "a%20b@c.d", "a%C2%A0b@c.d", "a@b%E3%80%80.c",
  "a@b.c%00", "%20", string.rep("a", 251) .. "@b.c",
}

test "an email that is an address is kept as written" (function(t)
  for i, email in ipairs(ADDRESSES) do
    local data = { platform = "web", url = LINK .. "email=" .. email }
    t:truthy(t:event("device:" .. i, "app.launched", data).decisions.attribution.email ~= json.null)
  end
  t:truthy(attribution(t, "email=" .. string.rep("a", 250) .. "@b.c").email ~= json.null)
end)

test "white space around an email is not part of it" (function(t)
  local spaced = string.rep("%20", 250) .. "a@b.c%09%E3%80%80"
  t:equal(attribution(t, "email=" .. spaced).email, "a@b.c")
  local submitted = t:event("device:e", "email.submitted", { email = " a@b.c\n" })
  t:equal(submitted.decisions, { screen = "email-confirm" })
end)

test "an invalid email is dropped" (function(t)
  for i, email in ipairs(NO_ADDRESSES) do
    local data = { platform = "web", url = LINK .. "email=" .. email }
    t:equal(t:event("device:" .. i, "app.launched", data).decisions.attribution.email, json.null)
  end
end)

test "a missing or unknown platform is an error beside a screen, and stores nothing" (function(t)
  for _, platform in ipairs { "windows", "iOS", "", 7, true, {} } do
    local outcome = t:event("device:d", "app.launched", { platform = platform, url = LINK .. "fbclid=x" })
    t:equal(outcome.decisions, { error = "invalid_platform", screen = "welcome" })
    t:equal(own(outcome), {})
  end
  t:equal(t:event("device:d", "app.launched", {}).decisions, { error = "invalid_platform", screen = "welcome" })
  t:equal(t:state("device:d"), {})
  t:equal(launch(t, nil).first_launch, true)
end)

test "an unknown platform gets the screen of the web" (function(t)
  local mail = LINK .. "fbclid=x&email=user@example.com"
  local function screen(device, data)
    data.platform = "windows"
    local decided = t:event("device:" .. device, "app.launched", data).decisions
    return { decided.screen, decided.prefill and decided.prefill.email }
  end
  t:equal(screen("a", { url = mail }), { "email-input", "user@example.com" })
  t:equal(screen("a", { url = mail, authenticated = true }), { "tabs" })
  t:event("device:b", "app.launched", { platform = "ios", url = mail, authenticated = true })
  t:equal(screen("b", {}), { "tabs" })
  t:equal(screen("b", { authenticated = false }), { "email-input", "user@example.com" })
  t:event("device:b", "user.authenticated", { user = "42" })
  t:equal(screen("b", { url = mail, authenticated = false }), { "welcome" })
end)

test "on a platform whose conversions were switched off an AppInstall is not sent, and not asked for" (function(t)
  local link = { platform = "ios", url = "https://x.example/?fbclid=a" }
  t:event("device:1", "app.launched", link)
  t:settings { platforms = { ios = { extinfo = "" } } }
  t:equal(t:event("device:1", "app.launched", link).decisions.screen, "welcome")
  t:equal(own(t:event("device:1", "att.answered", { status = "authorized" })), {})
  t:settings { platforms = { ios = { extinfo = "i2" } } }
  t:equal(#own(t:event("device:1", "app.launched", link)), 2)
end)

test "platforms are settings: who is asked, and who is told of" (function(t)
  t:settings { platforms = {
    ios = { asks = true, extinfo = "i2" }, android = { extinfo = "" }, harmony = { extinfo = "a2" },
  } }
  local function open(platform)
    local data = { platform = platform, url = LINK .. "fbclid=x" }
    return t:event("device:" .. platform, "app.launched", data)
  end
  t:equal(own(open("harmony"))[2].data.extinfo[1], "a2")
  t:equal(own(open("android")), {})
  t:equal(open("ios").decisions.screen, "tracking-onboarding")
end)

test "data that is not an object counts as empty" (function(t)
  for i, data in ipairs { 7, "text", true } do
    local device = "device:" .. i
    t:equal(t:event(device, "app.launched", data).decisions, { error = "invalid_platform", screen = "welcome" })
    t:equal(t:event(device, "email.submitted", data).decisions.error, "invalid_email")
    t:equal(t:event(device, "att.answered", data).decisions, { error = "invalid_status" })
    t:equal(t:event(device, "app.foregrounded", data).decisions, { reprompt = false })
    t:equal(t:event(device, "user.authenticated", data).failures, {})
  end
end)

test "events on the other kind of subject are ignored" (function(t)
  t:equal(t:event("user:1", "app.launched", { platform = "ios" }).decisions, {})
  t:equal(t:event("device:1", "account.deleted", {}).decisions, {})
  t:equal(t:event("d", "app.launched", { platform = "ios" }).decisions, {})
end)
