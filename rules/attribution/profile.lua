-- The user's state: the attribution that counts for them, and the latest tracking status. The end of the account erases
-- it, and reaches all devices that the user was on.

local deep_link = require "deep_link"
local fields = require "fields"
local linking = require "linking"
local subjects = require "subjects"

local profile = {}

--- The first attribution to Facebook stays. It replaces one without Facebook. An empty one is never stored.
local function counts(state, attribution, facebook)
  if deep_link.is_empty(attribution) then return false end
  return not state.attribution or (facebook and not state.facebook)
end

--- On a user: a device, which sent the message, brings its data. Devices hear whether the user came from Facebook.
function profile.linked(event, state)
  local link, device, was_facebook = event.data, event.sender, state.facebook
  if link.att_status then state.att_status, state.status_from = link.att_status, device end
  if link.attribution and counts(state, link.attribution, link.facebook) then
    state.attribution, state.facebook, state.attribution_from = link.attribution, link.facebook, device
  end
  send(device, plugin.name .. ".heard", { facebook = state.facebook == true })
  if state.facebook and not was_facebook then
    publish(event.subject, plugin.name .. ".attributed", {}, { except = device })
  end
end

function profile.deleted(event, state)
  publish(event.subject, plugin.name .. ".owner_deleted", {})
  for _, device in ipairs(state.devices or {}) do -- of earlier versions, whose devices joined no topic
    send(device, plugin.name .. ".owner_deleted", {})
  end
  forget { all = true }
end

--- On a device: it is erased if it still belongs to the deleted user, who sent the message. If somebody else has signed
--- in since, it loses its past and the deleted user's attribution. A link that may be under way is taken back.
function profile.owner_deleted(event, state)
  local owner = event.sender
  local user = subjects.id("user:", owner)
  linking.part(state, user)
  state.users = fields.without(state.users, user)
  if state.unheard then send(owner, plugin.name .. ".device_left", {}) end
  forget(state.user == user and { all = true } or { past = true })
end

--- Removes a device's data from a user's state.
function profile.take_back(state, device)
  if state.attribution_from == device then state.attribution, state.facebook, state.attribution_from = nil, nil, nil end
  if state.status_from == device then state.att_status, state.status_from = nil, nil end
end

--- On a deleted user: a link of the device that was under way has arrived meanwhile, and goes as well; its answer goes
--- from the device.
function profile.device_left(event, state)
  profile.take_back(state, event.sender)
  send(event.sender, plugin.name .. ".left", {})
  if next(state) == nil then forget { all = true } end
end

--- On a device: the answers of the deleted user, who sent the message, name that user.
function profile.left(_, state) forget(next(state) and { past = true } or { all = true }) end

function profile.answer(state)
  state = state or {}
  return {
    attribution = state.attribution and deep_link.shown(state.attribution) or json.null,
    att_status = fields.or_null(state.att_status),
  }
end

return profile
