-- From the device to the user, and the end of an account.

local own = require "own"

local LINK = "https://discovery.ozma.io/go-app/the-boss?"
local AD = LINK .. "fbclid=IwAR1aB&utm_campaign=install&email=user@example.com"

local function launch(t, device, data)
  data.platform = data.platform or "ios"
  return t:event("device:" .. device, "app.launched", data).decisions
end

local function sign_in(t, device, user) return t:event("device:" .. device, "user.authenticated", { user = user }) end

local function profile(t, user) return t:query("user:" .. user, "attribution.profile") end

test "signing in gives the attribution to the user" (function(t)
  t:at("2025-11-10T12:00:00Z")
  launch(t, "d", { url = AD })
  t:equal(profile(t, "42"), { attribution = json.null, att_status = json.null })
  sign_in(t, "d", "42")
  t:equal(profile(t, "42").attribution, {
    fbclid = "IwAR1aB", utm_source = json.null, utm_medium = json.null, utm_campaign = "install",
    utm_content = json.null, utm_term = json.null, email = "user@example.com", appUserId = json.null,
    installedAt = "2025-11-10T12:00:00.000Z",
  })
end)

test "linking clears the attribution on the device" (function(t)
  launch(t, "d", { url = AD, platform = "android" })
  sign_in(t, "d", "42")
  local kept = t:state("device:d")
  t:equal(kept.attribution, nil)
  t:equal(kept.install_origin, nil)
  t:equal({ kept.facebook, kept.user }, { true, "42" })
  t:equal(launch(t, "d", { platform = "android", authenticated = false }).screen, "welcome")
end)

test "what AppInstall still needs is kept, without the email in plain text" (function(t)
  launch(t, "d", { url = AD })
  sign_in(t, "d", "42")
  t:equal(t:state("device:d").install_origin, {
    fbclid = "IwAR1aB", clickedAt = t:now() * 1000, userData = { email = hash.sha256("user@example.com") },
    customData = { utm_campaign = "install" },
  })
end)

test "a launch that is signed in and names its user links too" (function(t)
  launch(t, "d", { url = AD, authenticated = true, user = "42" })
  t:equal(profile(t, "42").attribution.fbclid, "IwAR1aB")
  t:equal(t:state("device:d").attribution, nil)
end)

test "a foreground event that is signed in and names its user links too" (function(t)
  launch(t, "d", { url = AD })
  t:event("device:d", "app.foregrounded", { authenticated = true, user = "42" })
  t:equal(profile(t, "42").attribution.fbclid, "IwAR1aB")
end)

test "a user who is not signed in or not named is not linked" (function(t)
  launch(t, "d", { url = AD, authenticated = false, user = "42" })
  launch(t, "d", { authenticated = true })
  for _, user in ipairs { "", "a\nb", string.rep("u", 252), true, {} } do sign_in(t, "d", user) end
  t:equal(t:sent(), {})
  t:equal(t:state("device:d").attribution.fbclid, "IwAR1aB")
end)

test "a sign-in that came before the first launch links with that launch" (function(t)
  sign_in(t, "d", "42")
  launch(t, "d", { url = AD })
  t:equal({ profile(t, "42").attribution.fbclid, t:state("device:d").attribution }, { "IwAR1aB" })
  sign_in(t, "e", "43")
  launch(t, "e", { url = AD, authenticated = false })
  t:equal({ profile(t, "43").attribution, t:state("device:e").attribution.fbclid }, { json.null, "IwAR1aB" })
end)

test "a user id may be a number" (function(t)
  launch(t, "d", { url = AD })
  sign_in(t, "d", 42)
  t:equal(profile(t, "42").attribution.fbclid, "IwAR1aB")
end)

test "a user's first attribution to Facebook stays" (function(t)
  launch(t, "a", { url = AD })
  launch(t, "b", { url = LINK .. "fbclid=second" })
  sign_in(t, "a", "42")
  sign_in(t, "b", "42")
  t:equal(profile(t, "42").attribution.fbclid, "IwAR1aB")
end)

test "an attribution to Facebook replaces one without Facebook" (function(t)
  launch(t, "a", { url = LINK .. "utm_source=google" })
  launch(t, "b", { url = LINK .. "utm_source=facebook" })
  sign_in(t, "a", "42")
  t:equal(profile(t, "42").attribution.utm_source, "google")
  sign_in(t, "b", "42")
  t:equal(profile(t, "42").attribution.utm_source, "facebook")
end)

test "an attribution without Facebook replaces none" (function(t)
  launch(t, "a", { url = LINK .. "utm_source=facebook" })
  launch(t, "b", { url = LINK .. "utm_source=google" })
  launch(t, "c", { url = LINK .. "utm_source=bing" })
  for _, device in ipairs { "b", "c" } do sign_in(t, device, "1") end
  for _, device in ipairs { "a" } do sign_in(t, device, "2") end
  launch(t, "e", { url = LINK .. "utm_source=yahoo" })
  sign_in(t, "e", "2")
  t:equal(profile(t, "1").attribution.utm_source, "google")
  t:equal(profile(t, "2").attribution.utm_source, "facebook")
end)

test "an empty attribution is never stored, one with only an email is" (function(t)
  launch(t, "a", {})
  sign_in(t, "a", "42")
  t:equal(profile(t, "42").attribution, json.null)
  launch(t, "b", { url = LINK .. "email=user@example.com" })
  sign_in(t, "b", "42")
  t:equal(profile(t, "42").attribution.email, "user@example.com")
end)

test "linking brings the tracking status along" (function(t)
  launch(t, "d", { url = AD })
  t:event("device:d", "att.answered", { status = "denied" })
  sign_in(t, "d", "42")
  t:equal(profile(t, "42").att_status, "denied")
end)

test "an answer is recorded with the user who was linked before" (function(t)
  launch(t, "d", { url = AD })
  sign_in(t, "d", "42")
  t:event("device:d", "att.answered", { status = "authorized" })
  t:equal(profile(t, "42").att_status, "authorized")
end)

test "an answer is recorded with the user that it names" (function(t)
  launch(t, "d", {})
  t:event("device:d", "att.answered", { status = "restricted", user = "7" })
  t:equal(profile(t, "7").att_status, "restricted")
end)

test "a status changed in the phone's settings reaches the user, who need not be named" (function(t)
  launch(t, "d", { authenticated = true, user = "42", att_status = "denied" })
  t:equal(profile(t, "42").att_status, "denied")
  t:event("device:d", "app.foregrounded", { att_status = "authorized" })
  t:equal(profile(t, "42").att_status, "authorized")
  launch(t, "d", { att_status = "restricted" })
  t:equal(profile(t, "42").att_status, "restricted")
  launch(t, "d", { authenticated = true, user = "42", att_status = "authorized" })
  t:equal(profile(t, "42").att_status, "authorized")
end)

test "after a logout a status and an answer are nobody's" (function(t)
  launch(t, "d", { authenticated = true, user = "42", att_status = "denied" })
  t:event("device:d", "app.foregrounded", { authenticated = false, att_status = "authorized" })
  t:event("device:d", "att.answered", { status = "restricted" })
  launch(t, "d", { authenticated = true, att_status = "authorized" })
  t:event("device:d", "att.answered", { status = "authorized" })
  t:equal(profile(t, "42").att_status, "denied")
  t:event("device:d", "att.answered", { status = "authorized", authenticated = false, user = "42" })
  t:equal(profile(t, "42").att_status, "denied")
  sign_in(t, "d", "42")
  t:equal(profile(t, "42").att_status, "authorized")
  t:event("device:d", "att.answered", { status = "denied" })
  t:equal(profile(t, "42").att_status, "denied")
end)

test "after somebody else's sign-in a status is that user's" (function(t)
  launch(t, "d", { authenticated = true, user = "ada", att_status = "denied" })
  sign_in(t, "d", "bob")
  t:equal(profile(t, "bob").att_status, "denied")
  t:event("device:d", "app.foregrounded", { att_status = "authorized" })
  t:equal({ profile(t, "ada").att_status, profile(t, "bob").att_status }, { "denied", "authorized" })
end)

test "an answer is news, also where the device told the same before" (function(t)
  launch(t, "a", { authenticated = true, user = "42", att_status = "denied" })
  launch(t, "b", { authenticated = true, user = "42", att_status = "authorized" })
  t:event("device:a", "att.answered", { status = "denied" })
  t:equal(profile(t, "42").att_status, "denied")
end)

test "a device without a status does not change the user's" (function(t)
  launch(t, "a", { authenticated = true, user = "42", att_status = "denied" })
  launch(t, "b", { platform = "android", authenticated = true, user = "42" })
  t:equal(profile(t, "42").att_status, "denied")
end)

test "what the user already knows is not sent again" (function(t)
  for _ = 1, 3 do launch(t, "d", { url = AD, authenticated = true, user = "42", att_status = "denied" }) end
  sign_in(t, "d", "42")
  local sent = own(t:sent())
  t:equal({ #sent, sent[1].subject, sent[2].subject }, { 2, "user:42", "device:d" })
end)

test "the profile without a subject is empty" (function(t)
  t:equal(t:query(nil, "profile"), { attribution = json.null, att_status = json.null })
end)

test "what can't be a user is told, and not linked" (function(t)
  for i, user in ipairs { 7.0, 18446744073709551615.0, 1e300, true, {}, ("u"):rep(252), "a\nb" } do
    local device = "device:" .. i
    t:event(device, "app.launched", { platform = "android" })
    local named = {
      ["user.authenticated"] = { user = user },
      ["app.launched"] = { platform = "android", authenticated = true, user = user },
      ["app.foregrounded"] = { user = user },
      ["att.answered"] = { status = "denied", user = user },
    }
    for type, data in pairs(named) do t:equal(t:event(device, type, data).decisions.error, "invalid_user") end
    t:equal(t:state(device).user, nil)
  end
end)

test "no user is no error, and a whole number is one" (function(t)
  t:event("device:d", "app.launched", { platform = "android", user = "" })
  t:equal(t:event("device:d", "user.authenticated", {}).decisions.error, nil)
  t:equal(t:event("device:d", "user.authenticated", { user = 7 }).decisions.error, nil)
  t:equal(t:state("device:d").user, "7")
end)
