-- The request that carries a conversion to Meta.

local own = require "own"

local AD = "boss://open?fbclid=IwAR1aB&utm_source=facebook&email=user@example.com"

local function install(t, platform)
  local data = { platform = platform or "android", url = AD, att_status = "denied" }
  return own(t:event("device:d", "app.launched", data))[2]
end

test "a conversion is posted in Meta's format, one event per request" (function(t)
  t:at("2025-11-10T12:00:00Z")
  local effect = install(t)
  local request = t:sink(effect)
  t:equal(request.headers, { ["content-type"] = "application/json" })
  t:equal(json.decode(request.body), { data = { {
    event_name = "AppInstall", event_time = 1762776000, event_id = effect.data.eventId, action_source = "app",
    user_data = { em = hash.sha256("user@example.com"), fbc = "fb.1.1762776000000.IwAR1aB" },
    app_data = {
      advertiser_tracking_enabled = 1, application_tracking_enabled = 1, extinfo = effect.data.extinfo,
    },
    custom_data = { utm_source = "facebook" },
  } } })
end)

test "tracking is 0 for a user who denied it" (function(t)
  local event = json.decode(t:sink(install(t, "ios")).body).data[1]
  t:equal(event.app_data.advertiser_tracking_enabled, 0)
  t:equal(event.app_data.application_tracking_enabled, 1)
end)

test "a launch of a linked device has empty user and custom data" (function(t)
  install(t)
  t:event("device:d", "user.authenticated", { user = "42" })
  local effect = own(t:event("device:d", "app.launched", { platform = "android" }))[2]
  local body = t:sink(effect).body
  t:equal(json.decode(body).data[1].event_name, "AppLaunch")
  t:truthy(body:find('"user_data":{}', 1, true))
  t:truthy(body:find('"custom_data":{}', 1, true))
end)

test "an event older than seven days is expired, not sent" (function(t)
  t:at("2025-11-10T12:00:00Z")
  local effect = install(t)
  t:advance("7d")
  t:truthy(t:sink(effect))
  t:advance("1s")
  local request, why = t:sink(effect)
  t:equal(request, nil)
  t:equal(why, "older than 7 days")
end)

test "the sink's own URL is used unless a setting names one" (function(t)
  local effect = install(t)
  t:equal(t:sink(effect).url, nil)
  t:settings { url = "https://graph.facebook.com/v24.0/{pixel_id}/events", pixel_id = 123 }
  t:equal(t:sink(effect).url, "https://graph.facebook.com/v24.0/123/events")
end)

local function fbc(t, effect) return json.decode(t:sink(effect).body).data[1].user_data.fbc end

test "the click id has the millisecond of the install, also after the link to a user" (function(t)
  t:at("2025-11-10T12:00:00.789Z")
  t:event("device:d", "app.launched", { platform = "ios", url = AD })
  t:advance("3d")
  t:event("device:d", "user.authenticated", { user = "42" })
  local effect = own(t:event("device:d", "att.answered", { status = "authorized" }))[2]
  t:equal(fbc(t, effect), "fb.1.1762776000789.IwAR1aB")
end)

test "a later launch has the click id of the install, until the device is linked" (function(t)
  t:at("2025-11-10T12:00:00Z")
  install(t)
  t:advance("1d")
  local function launch() return own(t:event("device:d", "app.launched", { platform = "android" }))[2] end
  t:equal(fbc(t, launch()), "fb.1.1762776000000.IwAR1aB")
  t:event("device:d", "user.authenticated", { user = "42" })
  t:equal(fbc(t, launch()), nil)
end)

test "without a click id there is none in the request, and one of unknown age has the event's time" (function(t)
  t:at("2025-11-10T12:00:00Z")
  local data = { platform = "android", url = "boss://open?utm_source=facebook" }
  local effect = own(t:event("device:d", "app.launched", data))[2]
  t:equal(fbc(t, effect), nil)
  effect.data.fbclid = "IwAR1aB"
  t:equal(fbc(t, effect), "fb.1.1762776000000.IwAR1aB")
end)
