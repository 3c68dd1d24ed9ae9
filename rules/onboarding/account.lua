-- The end of an account: all of the user goes, and what others hold of them. These hear of it from a subject that keeps
-- nothing, behind the user's messages to them that are under way.
local bell = require "bell"
local subjects = require "subjects"

local account = {}

function account.deleted(_, _, event)
  send("erased:" .. uuid(), "account.erased", { plugin = plugin.name, user = subjects.id("user:", event.subject) })
  forget { all = true }
end

function account.erased(_, data)
  publish(bell.holders(data.user), "person.erased", { plugin = plugin.name, user = data.user })
end

-- On a user who holds something of another.
function account.other_erased(state, data) bell.erase(state, data.user) end

return account
