-- The end of an account: all data of the user goes, with others too. A subject of its own tells these, and once more
-- for messages of the user that are still under way.
local bell = require "bell"
local subjects = require "subjects"

local account = {}

local AGAIN = { 1, 10, 60 } -- seconds until others hear of it once more

function account.deleted(_, _, event)
  send("erased:" .. uuid(), "account.erased", { plugin = plugin.name, user = subjects.id("user:", event.subject) })
  forget { all = true }
end

function account.erased(_, data)
  publish(bell.holders(data.user), "person.erased", { plugin = plugin.name, user = data.user })
  local round = (data.round or 0) + 1
  if not AGAIN[round] then return forget { all = true } end
  timer.set("again", now() + AGAIN[round], "account.erased", { plugin = plugin.name, user = data.user, round = round })
end

-- On a user who holds something of another.
function account.other_erased(state, data) bell.erase(state, data.user) end

return account
