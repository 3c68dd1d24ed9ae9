-- The user's state: the attribution that counts for them, the latest tracking status, and their devices. Deleting an
-- account erases it, and the devices whose last user it was.

local deep_link = require "deep_link"
local fields = require "fields"
local subjects = require "subjects"

local profile = {}

--- How many messages to itself a deleted user waits for before it forgets that it was deleted. A link that was sent
--- before the deletion arrives earlier: it was committed earlier, and each of these messages takes a commit.
local WAITS = 4

local function erase_device(event, device) send(device, "attribution.owner_deleted", { owner = event.subject }) end

--- The first attribution to Facebook stays. It replaces one without Facebook. An empty one is never stored.
local function counts(state, attribution, facebook)
  if deep_link.is_empty(attribution) then return false end
  return not state.attribution or (facebook and not state.facebook)
end

function profile.linked(event, state)
  local link = event.data
  if state.deleted then return erase_device(event, link.device) end
  local devices = state.devices or array {}
  if not fields.is_one_of(link.device, devices) then devices[#devices + 1] = link.device end
  state.devices, state.att_status = devices, link.att_status or state.att_status
  if link.attribution and counts(state, link.attribution, link.facebook) then
    state.attribution, state.facebook = link.attribution, link.facebook
  end
end

function profile.deleted(event, state)
  for _, device in ipairs(state.devices or {}) do erase_device(event, device) end
  forget()
  state.deleted = true
  send(event.subject, "attribution.deletion_waits", { left = WAITS })
end

function profile.deletion_waits(event, state)
  if not state.deleted then return end
  local left = event.data.left - 1
  if left == 0 then return forget { all = true } end
  send(event.subject, "attribution.deletion_waits", { left = left })
end

--- On a device: checks that it still belongs to the user, as somebody else may have signed in since.
function profile.owner_deleted(event, state)
  if state.user and subjects.of_user(state.user) == event.data.owner then forget { all = true } end
end

function profile.answer(state)
  state = state or {}
  return {
    attribution = state.attribution and deep_link.shown(state.attribution) or json.null,
    att_status = fields.or_null(state.att_status),
  }
end

return profile
