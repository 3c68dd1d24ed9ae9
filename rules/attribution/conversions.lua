-- Conversions for Meta: AppInstall once per device, AppLaunch on later launches. Each is sent twice, by the SDK on the
-- device and to the Conversions API, with the same event id, by which Meta drops the duplicate.

local email_address = require "email_address"
local utm = require "utm"
local device_info = require "device_info"

local conversions = {}

--- Where the user came from, for both events. The email is hashed here and leaves in no other form.
local function origin(attribution)
  local email = attribution.email
  return {
    fbclid = attribution.fbclid,
    userData = { email = email and email_address.hashed(email) or nil },
    customData = utm.present(attribution),
  }
end

local function send_pair(state, name, allowed, from)
  local event_id = uuid()
  emit("client", name, {
    eventName = settings.client_event,
    eventId = event_id,
    advertiserTrackingEnabled = allowed,
  })
  emit("conversions", name, {
    eventName = name,
    eventTime = math.floor(now()),
    eventId = event_id,
    advertiserTrackingEnabled = allowed,
    applicationTrackingEnabled = true,
    extinfo = device_info.extinfo(state.platform, state.device),
    fbclid = from.fbclid,
    userData = from.userData,
    customData = from.customData,
  })
end

--- Whether AppInstall is due: from the first launch with Facebook attribution until it is sent.
function conversions.owe_install(state)
  state.install_owed = true
end

function conversions.install_is_owed(state)
  return state.install_owed == true
end

--- Keeps what an unsent AppInstall needs, the email hashed, before the device's attribution is cleared.
function conversions.keep_for_install(state)
  if state.install_owed and state.attribution then state.install_origin = origin(state.attribution) end
end

function conversions.pay_install(state, allowed)
  send_pair(state, "AppInstall", allowed, state.attribution and origin(state.attribution) or state.install_origin)
  state.install_owed = nil
  state.install_origin = nil
end

--- After linking, the device no longer knows where the user came from, so the event has no attribution.
function conversions.send_launch(state, allowed)
  send_pair(state, "AppLaunch", allowed, state.attribution and origin(state.attribution) or {})
end

return conversions
