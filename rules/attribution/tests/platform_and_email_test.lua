-- What a launch may tell: which platforms there are, and what counts as an email.

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

test "a missing or unknown platform is an error and stores nothing" (function(t)
  for _, platform in ipairs { "windows", "iOS", "", 7, true, {} } do
    local outcome = t:event("device:d", "app.launched", { platform = platform, url = LINK .. "fbclid=x" })
    t:equal(outcome.decisions, { error = "invalid_platform" })
    t:equal(outcome.effects, {})
  end
  t:equal(t:event("device:d", "app.launched", {}).decisions, { error = "invalid_platform" })
  t:equal(t:state("device:d"), {})
  t:equal(launch(t, nil).first_launch, true)
end)

test "data that is not an object counts as empty" (function(t)
  for _, data in ipairs { 7, "text", true } do
    t:equal(t:event("device:d", "app.launched", data).decisions, { error = "invalid_platform" })
    t:equal(t:event("device:d", "email.submitted", data).decisions.error, "invalid_email")
    t:equal(t:event("device:d", "att.answered", data).decisions, { error = "invalid_status" })
    t:equal(t:event("device:d", "app.foregrounded", data).decisions, { reprompt = false })
    t:equal(t:event("device:d", "user.authenticated", data).failures, {})
  end
end)

test "events on the other kind of subject are ignored" (function(t)
  t:equal(t:event("user:1", "app.launched", { platform = "ios" }).decisions, {})
  t:equal(t:event("device:1", "account.deleted", {}).decisions, {})
  t:equal(t:event("d", "app.launched", { platform = "ios" }).decisions, {})
end)
