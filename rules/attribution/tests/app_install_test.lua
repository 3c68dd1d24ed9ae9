-- AppInstall: exactly once for each device from Facebook, as a pair with one event id.

local own = require "own"

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=IwAR1aB&utm_source=facebook&utm_medium=cpc"
local HASH = hash.sha256("user@example.com")

local function launch(t, platform, more)
  local data = { platform = platform }
  for name, value in pairs(more or {}) do data[name] = value end
  return own(t:event("device:d", "app.launched", data))
end

local function answer(t, status) return own(t:event("device:d", "att.answered", { status = status })) end

local function types(effects)
  local list = {}
  for _, effect in ipairs(effects) do list[#list + 1] = effect.sink .. " " .. effect.type end
  return list
end

local INSTALL = { "client AppInstall", "conversions AppInstall" }
local LAUNCH = { "client AppLaunch", "conversions AppLaunch" }

test "Android sends AppInstall at once, as a pair with one event id" (function(t)
  t:at("2025-11-10T12:35:26.789Z")
  local effects = launch(t, "android", { url = AD .. "&email=User%40Example.com" })
  t:equal(types(effects), INSTALL)
  local id = effects[1].data.eventId
  t:truthy(id:find("^%x+%-%x+%-%x+%-%x+%-%x+$"))
  t:equal(effects[1].data, {
    eventName = "fb_mobile_activate_app", eventId = id, advertiserTrackingEnabled = true,
  })
  t:equal(effects[2].data, {
    eventName = "AppInstall", eventTime = 1762778126, eventId = id,
    advertiserTrackingEnabled = true, applicationTrackingEnabled = true,
    extinfo = { "a2", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "" },
    fbclid = "IwAR1aB", clickedAt = 1762778126789, userData = { email = HASH },
    customData = { utm_source = "facebook", utm_medium = "cpc" },
  })
  t:equal({ math.type(effects[2].data.eventTime), math.type(effects[2].data.clickedAt) }, { "integer", "integer" })
end)

test "click id and email are left out or empty if absent" (function(t)
  local data = launch(t, "android", { url = "boss://open?utm_source=facebook" })[2].data
  t:equal({ data.fbclid, data.userData, data.customData }, { nil, {}, { utm_source = "facebook" } })
  t:equal(data.fbclid, nil)
  t:equal(own(t:event("device:e", "app.launched", { platform = "android", url = "boss://open?fbclid=X" }))[2].data
    .customData, {})
end)

test "iOS sends AppInstall when the user answers, with tracking only if authorized" (function(t)
  for status, allowed in pairs { authorized = true, denied = false, restricted = false } do
    local device = "device:" .. status
    t:equal(own(t:event(device, "app.launched", { platform = "ios", url = AD })), {})
    local effects = own(t:event(device, "att.answered", { status = status }))
    t:equal(types(effects), INSTALL)
    t:equal(effects[1].data.advertiserTrackingEnabled, allowed)
    t:equal(effects[2].data.advertiserTrackingEnabled, allowed)
    t:equal(effects[2].data.applicationTrackingEnabled, true)
  end
end)

test "iOS sends AppInstall at a first launch that reports a determined status" (function(t)
  for status, allowed in pairs { authorized = true, denied = false, restricted = false } do
    local data = { platform = "ios", url = AD, att_status = status }
    local effects = own(t:event("device:" .. status, "app.launched", data))
    t:equal(types(effects), INSTALL)
    t:equal(effects[2].data.advertiserTrackingEnabled, allowed)
  end
end)

test "iOS sends AppInstall at a later launch that is the first to report a determined status" (function(t)
  launch(t, "ios", { url = AD })
  t:equal(launch(t, "ios", { att_status = "not-determined" }), {})
  t:equal(types(launch(t, "ios", { att_status = "authorized" })), INSTALL)
  t:equal(types(launch(t, "ios", { att_status = "authorized" })), LAUNCH)
end)

test "an unknown status on a launch is not reported" (function(t)
  t:equal(launch(t, "ios", { url = AD, att_status = "maybe" }), {})
  t:equal(t:query("device:d", "tracking").att_status, "not-determined")
end)

test "AppInstall is sent once, whatever follows" (function(t)
  launch(t, "ios", { url = AD })
  answer(t, "denied")
  answer(t, "authorized")
  launch(t, "ios", { url = AD, att_status = "authorized" })
  launch(t, "android", { url = AD })
  t:event("device:d", "user.authenticated", { user = "1" })
  answer(t, "denied")
  local installs = 0
  for _, effect in ipairs(own(t:effects("device:d"))) do
    if effect.type == "AppInstall" then installs = installs + 1 end
  end
  t:equal(installs, 2)
end)

test "a launch that is sent again is answered, not sent again" (function(t)
  local data = { platform = "android", url = AD }
  t:event("device:d", "app.launched", data, { id = "l1", source = "the-boss/android" })
  t:truthy(t:event("device:d", "app.launched", data, { id = "l1", source = "the-boss/android" }).duplicate)
  t:equal(#own(t:effects("device:d")), 2)
end)

test "an invalid answer sends nothing and changes nothing" (function(t)
  launch(t, "ios", { url = AD })
  local before = t:state("device:d")
  for _, status in ipairs { "not-determined", "maybe", "", 7 } do
    local outcome = t:event("device:d", "att.answered", { status = status, authenticated = true, user = "1" })
    t:equal(outcome.decisions, { error = "invalid_status" })
    t:equal(own(outcome), {})
  end
  t:equal(t:state("device:d"), before)
  t:equal(types(answer(t, "authorized")), INSTALL)
end)

test "linking to a user meanwhile leaves on the device what AppInstall needs" (function(t)
  launch(t, "ios", { url = AD .. "&email=User@Example.com" })
  t:event("device:d", "user.authenticated", { user = "42" })
  local data = answer(t, "authorized")[2].data
  t:equal(data.fbclid, "IwAR1aB")
  t:equal(data.userData, { email = HASH })
  t:equal(data.customData, { utm_source = "facebook", utm_medium = "cpc" })
  t:equal(launch(t, "ios")[2].data.fbclid, nil)
  t:equal(t:state("device:d").install_origin, nil)
end)

test "the email is trimmed, in Unicode lower case, and hashed" (function(t)
  launch(t, "android", { url = "boss://open?fbclid=x&email=John_Smith@gmail.com" })
  local known = "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f"
  t:equal(own(t:effects("device:d"))[2].data.userData.email, known)
  local umlaut = { platform = "android", url = "boss://open?fbclid=x&email=M%C3%9CLLER@Example.com" }
  t:equal(own(t:event("device:e", "app.launched", umlaut))[2].data.userData.email,
    hash.sha256("m\u{FC}ller@example.com"))
end)

test "no effect carries an email in plain text" (function(t)
  launch(t, "ios", { url = AD .. "&email=User@Example.com" })
  answer(t, "denied")
  launch(t, "ios")
  t:event("device:d", "user.authenticated", { user = "42" })
  launch(t, "ios")
  t:equal(#own(t:effects("device:d")), 6)
  t:equal(json.encode(t:effects("device:d")):lower():find("@", 1, true), nil)
end)

test "no address leaves in the link's parameters or the device's" (function(t)
  local device = { carrier = "ada@example.org", model = "Pixel 9" }
  local query = "&utm_source=facebook&utm_content=ada@example.org&utm_term=ada%2540example.org"
  local sent = launch(t, "android", { url = "boss://open?fbclid=ada@example.org" .. query, device = device })[2].data
  t:equal({ sent.customData, sent.fbclid, sent.extinfo[6], sent.extinfo[9] },
    { { utm_source = "facebook" }, nil, "Pixel 9", "" })
  t:equal(json.encode(t:effects("device:d")):find("example.org", 1, true), nil)
end)

test "no phone number leaves in the link's parameters, a campaign's id does" (function(t)
  local sent = launch(t, "android", {
    url = "boss://open?fbclid=+491701234567&utm_campaign=120210000000001234&utm_source=%2B491701234567"
      .. "&utm_content=0170-1234567&utm_term=(555)%20123-4567&utm_medium=23851234567890123",
  })[2].data
  t:equal({ sent.customData, sent.fbclid },
    { { utm_campaign = "120210000000001234", utm_medium = "23851234567890123" }, nil })
end)

test "a link of any length is judged within the budget, and a long parameter does not leave" (function(t)
  for _, text in ipairs { ("("):rep(1900), ("+"):rep(1900), ("1-"):rep(900), ("x1-"):rep(600), ("("):rep(7000) } do
    local data = { platform = "android", url = "boss://open?fbclid=x&utm_campaign=" .. text:gsub("%+", "%%2B") }
    local sent = own(t:event("device:" .. #text .. text:sub(1, 2), "app.launched", data))[2]
    t:equal(sent.data.customData.utm_campaign, #text < 2000 and text or nil)
  end
end)

test "a pending AppInstall is sent at the first answer, and only once" (function(t)
  launch(t, "ios", { url = AD, authenticated = true })
  t:event("device:d", "app.foregrounded", { att_status = "denied" })
  t:advance("14d")
  t:equal(t:event("device:d", "app.foregrounded", {}).decisions.reprompt, true)
  t:equal(types(answer(t, "authorized")), INSTALL)
  t:advance("14d")
  t:equal(answer(t, "denied"), {})
end)

test "a status reported by a foreground event counts on the next launch" (function(t)
  launch(t, "ios", { url = AD })
  t:equal(own(t:event("device:d", "app.foregrounded", { att_status = "denied" })), {})
  t:equal(types(launch(t, "ios")), INSTALL)
end)

test "an install that is older than the rules sends no AppInstall, and is no first launch" (function(t)
  for _, platform in ipairs { "android", "ios" } do
    local device = "device:" .. platform
    local data = { platform = platform, url = AD, first_launch = false }
    local outcome = t:event(device, "app.launched", data)
    t:equal(outcome.decisions, {
      first_launch = false, facebook_attribution = false, reprompt = false, screen = "welcome",
    })
    t:equal(own(t:event(device, "att.answered", { status = "authorized" })), {})
    t:equal(t:event(device, "app.launched", { platform = platform, url = AD }).decisions.first_launch, false)
    t:equal(own(t:effects(device)), {})
  end
  t:equal(t:query(nil, "installs"), { installs = {} })
end)

test "only a known launch is a later one, whatever the client says" (function(t)
  launch(t, "android", { url = AD, first_launch = true })
  t:equal(types(launch(t, "android", { url = AD, first_launch = true })), LAUNCH)
  local odd = { platform = "android", url = AD, first_launch = 0 }
  t:equal(types(own(t:event("device:e", "app.launched", odd))), INSTALL)
end)
