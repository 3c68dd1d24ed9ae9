-- The end of an account: all of the user goes, and what others hold of them.
local bell = require "bell"
local subjects = require "subjects"

local account = {}

-- The message to oneself comes behind those to others that are under way.
function account.deleted(_, _, event)
  forget()
  send(event.subject, "account.erased", { plugin = plugin.name })
end

function account.erased(_, _, event)
  publish(bell.holders(subjects.id("user:", event.subject)), "person.erased", { plugin = plugin.name })
end

-- On a user who holds something of the sender.
function account.other_erased(state, _, event) bell.erase(state, subjects.id("user:", event.sender)) end

return account
