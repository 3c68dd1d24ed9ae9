-- AppLaunch: on later launches of devices that came from Facebook, and never more than that.

local own = require "own"

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=IwAR1aB&utm_source=facebook&utm_medium=cpc"

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

local PLAIN = "https://discovery.ozma.io/go-app/the-boss?utm_source=google"
local HASH = hash.sha256("user@example.com")
local LAUNCH = { "client AppLaunch", "conversions AppLaunch" }

test "no AppLaunch is sent while AppInstall is pending" (function(t)
  launch(t, "ios", { url = AD })
  t:equal(launch(t, "ios"), {})
  answer(t, "denied")
  t:equal(types(launch(t, "ios")), LAUNCH)
end)

test "a later launch with Facebook attribution sends AppLaunch" (function(t)
  launch(t, "android", { url = AD .. "&email=user@example.com" })
  t:advance("1h")
  local effects = launch(t, "android")
  t:equal(types(effects), LAUNCH)
  t:equal(effects[1].data.eventName, "fb_mobile_activate_app")
  t:equal(effects[1].data.eventId, effects[2].data.eventId)
  t:equal(effects[2].data.eventName, "AppLaunch")
  t:equal(effects[2].data.fbclid, "IwAR1aB")
  t:equal(effects[2].data.userData, { email = HASH })
  t:equal(effects[2].data.customData, { utm_source = "facebook", utm_medium = "cpc" })
  t:truthy(effects[2].data.eventId ~= own(t:effects("device:d"))[1].data.eventId)
end)

test "after linking AppLaunch says nothing of where the user came from" (function(t)
  launch(t, "android", { url = AD .. "&email=user@example.com" })
  t:event("device:d", "user.authenticated", { user = "42" })
  local data = launch(t, "android")[2].data
  t:equal({ data.fbclid, data.userData, data.customData }, {})
  t:equal(data.advertiserTrackingEnabled, true)
  t:equal(#data.extinfo, 16)
end)

test "AppLaunch on iOS carries the user's answer" (function(t)
  launch(t, "ios", { url = AD })
  answer(t, "authorized")
  t:equal(launch(t, "ios")[2].data.advertiserTrackingEnabled, true)
  t:equal(launch(t, "ios", { att_status = "denied" })[2].data.advertiserTrackingEnabled, false)
end)

test "without Facebook attribution nothing is ever sent" (function(t)
  for _, platform in ipairs { "ios", "android", "web" } do
    local device = "device:" .. platform
    t:event(device, "app.launched", { platform = platform, url = PLAIN, att_status = "authorized" })
    t:event(device, "att.answered", { status = "authorized" })
    t:event(device, "app.launched", { platform = platform })
    t:equal(own(t:effects(device)), {})
  end
end)

test "the web sends no conversions" (function(t)
  t:equal(launch(t, "web", { url = AD }), {})
  t:equal(launch(t, "web"), {})
  t:equal(answer(t, "authorized"), {})
end)

local function launch_of(t, user) return launch(t, "android", { authenticated = true, user = user }) end

test "AppLaunch goes with the account that is there" (function(t)
  launch(t, "android", { url = AD })
  t:equal(launch_of(t, "ada")[2].data.fbclid, nil)
  t:equal(launch_of(t, "bob"), {})
  t:equal(launch(t, "android"), {})
  t:equal(types(launch_of(t, "ada")), LAUNCH)
  t:equal(types(launch(t, "android")), LAUNCH)
end)

local function launch_on(t, device, more)
  local data = { platform = "android", authenticated = true, user = "ada" }
  for name, value in pairs(more or {}) do data[name] = value end
  return types(own(t:event("device:" .. device, "app.launched", data)))
end

test "AppLaunch goes with an account to its other devices, from their next launch on" (function(t)
  t:equal(launch_on(t, "before", { url = PLAIN }), {})
  t:equal(launch_on(t, "before"), {})
  t:equal(launch_on(t, "ad", { url = AD }), { "client AppInstall", "conversions AppInstall" })
  t:equal(launch_on(t, "before"), LAUNCH)
  t:equal(launch_on(t, "after"), {})
  t:equal(launch_on(t, "after"), LAUNCH)
  t:equal(launch_on(t, "after", { user = "bob" }), {})
  t:equal(launch_on(t, "after", { user = "bob" }), {})
  t:equal(launch_on(t, "after"), {})
  t:equal(launch_on(t, "after"), LAUNCH)
end)

test "an account that has left a device brings nothing to who is there" (function(t)
  launch_on(t, "shared")
  launch_on(t, "shared", { user = "bob" })
  launch_on(t, "ad", { url = AD })
  t:equal(launch_on(t, "shared", { user = "bob" }), {})
end)

test "a status that is linked brings no attribution along" (function(t)
  launch(t, "ios", { url = AD, att_status = "denied" })
  for _, user in ipairs { "ada", "bob" } do launch(t, "ios", { authenticated = true, user = user }) end
  t:equal(launch(t, "ios"), {})
end)

test "while nobody is there AppLaunch is the device's" (function(t)
  launch(t, "android", { url = AD })
  launch_of(t, "ada")
  launch_of(t, "bob")
  t:equal(types(launch(t, "android", { authenticated = false })), LAUNCH)
  launch_on(t, "organic")
  launch_on(t, "organic")
  t:equal(launch_on(t, "organic", { authenticated = false }), {})
end)
