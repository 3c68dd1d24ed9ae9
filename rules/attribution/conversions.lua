-- Conversions for Meta: AppInstall once per device, AppLaunch on later launches.

local meta = require "meta"

local conversions = {}

-- The settings of the device's platform.
local function platform(state) return settings.platforms[state.platform] or {} end

--- Whether tracking needs the user's consent there.
function conversions.needs_consent(state) return platform(state).asks == true end

--- Whether Meta is told of devices of the platform.
function conversions.are_told(state) return (platform(state).extinfo or "") ~= "" end

local function send_pair(state, name, allowed, from)
  meta.send(name, settings.client_event, now(), allowed, meta.extinfo(platform(state).extinfo, state.device), from)
end

--- Whether AppInstall is due: from the first launch with Facebook attribution until it is sent, while Meta is told.
function conversions.install_is_owed(state) return state.install_owed == true and conversions.are_told(state) end

--- Where the user came from. After linking, the device no longer knows it, unless an unsent AppInstall needs it.
local function origin(state)
  return state.attribution and meta.origin(state.attribution) or state.install_origin or {}
end

--- Keeps the data for an unsent AppInstall, the email hashed, before the device's attribution is cleared.
function conversions.keep_for_install(state)
  if state.install_owed and state.attribution then state.install_origin = origin(state) end
end

function conversions.pay_install(state, allowed)
  send_pair(state, "AppInstall", allowed, origin(state))
  state.install_owed, state.install_origin = nil, nil
end

function conversions.send_launch(state, allowed) send_pair(state, "AppLaunch", allowed, origin(state)) end

--- Forgets that the device was Facebook's: with the account that had the attribution, nothing is told any more.
function conversions.forget_origin(state)
  state.facebook, state.install_owed, state.install_origin = false, nil, nil
end

return conversions
