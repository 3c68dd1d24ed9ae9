-- Deleting an account erases everything about the user, and about the devices whose last user it was.

local subjects = require "subjects"

local account = {}

function account.deleted(event, state)
  for _, device in ipairs(state.devices or {}) do
    send(device, "attribution.owner_deleted", { owner = event.subject })
  end
  forget()
end

--- Checks that the device still belongs to the user: somebody else may have signed in since.
function account.owner_deleted(event, state)
  if state.user and subjects.of_user(state.user) == event.data.owner then forget() end
end

return account
