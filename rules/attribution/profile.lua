-- The user's state: the attribution that counts for them, the latest tracking status, and their devices.

local account = require "account"
local fields = require "fields"
local deep_link = require "deep_link"

local profile = {}

--- The first attribution to Facebook stays. It replaces one without Facebook. An empty one is never stored.
local function counts(state, attribution, facebook)
  if deep_link.is_empty(attribution) then return false end
  return not state.attribution or (facebook and not state.facebook)
end

local function add_device(state, device)
  state.devices = state.devices or array {}
  for _, known in ipairs(state.devices) do
    if known == device then return end
  end
  state.devices[#state.devices + 1] = device
end

function profile.linked(event, state)
  local link = event.data
  if state.deleted then return account.erase_device(event, link.device) end
  add_device(state, link.device)
  state.att_status = link.att_status or state.att_status
  if link.attribution and counts(state, link.attribution, link.facebook) then
    state.attribution = link.attribution
    state.facebook = link.facebook
  end
end

function profile.answer(state)
  state = state or {}
  return {
    attribution = state.attribution and deep_link.shown(state.attribution) or json.null,
    att_status = fields.or_null(state.att_status),
  }
end

return profile
