-- Deleting an account erases everything about the user, and about the devices whose last user it was.

local subjects = require "subjects"

local account = {}

--- How many messages to itself a deleted user waits for before it forgets that it was deleted. A link that was sent
--- before the deletion arrives earlier: it was committed earlier, and each of these messages takes a commit.
local WAITS = 4

function account.deleted(event, state)
  for _, device in ipairs(state.devices or {}) do account.erase_device(event, device) end
  forget()
  state.deleted = true
  send(event.subject, "attribution.deletion_waits", { left = WAITS })
end

--- Erases a device of a deleted user.
function account.erase_device(event, device)
  send(device, "attribution.owner_deleted", { owner = event.subject })
end

function account.deletion_waits(event, state)
  if not state.deleted then return end
  local left = event.data.left - 1
  if left > 0 then
    send(event.subject, "attribution.deletion_waits", { left = left })
  else
    forget()
  end
end

--- Checks that the device still belongs to the user: somebody else may have signed in since.
function account.owner_deleted(event, state)
  if state.user and subjects.of_user(state.user) == event.data.owner then forget() end
end

return account
