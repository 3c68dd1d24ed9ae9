-- Areas of earlier rules listed their members in their states, and further ones in the state of an annex, `area:<id>+`.
-- With the next stamp the listed members are told to join the topic, some a second; the topic has the stamp a second
-- later, when all have joined.
local subjects = require "subjects"

local lists = {}

local SOME = 500 -- members at a time: an event may send 1,000 messages

--- The topic of an area's members.
function lists.topic(area) return "area:" .. area end

--- Takes a user who leaves an area from its list.
function lists.leave(area, event)
  send("area:" .. area, "area.parted", { plugin = plugin.name, user = subjects.id("user:", event.subject) })
end

function lists.parted(state, data, event)
  if state.members then state.members[data.user] = nil end
  if state.annex then send(event.subject .. "+", event.type, event.data) end
end

-- Tells some of the listed members of a stamp. Returns whether there were any.
local function tell_some(state, data)
  local left = SOME
  for user in pairs(state.members) do
    if left == 0 then break end
    send(subjects.of_user(user), "area.told", data)
    state.members[user], left = nil, left - 1
  end
  return left < SOME
end

--- Publishes a stamp, `{ plugin, stamp, area }`, once all listed members are told of it. A timer goes on, as what
--- follows from hundreds of messages may send few.
function lists.publish(state, data, event)
  if state.members and not tell_some(state, data) and event.origin == "timer" then
    state.members, state.count = nil, nil
  end
  if state.members then
    timer.set("publish:" .. data.stamp, now() + 1, "area.publish_due", data)
  elseif state.annex then
    send(event.subject .. "+", "area.publish_due", data)
  else
    publish(lists.topic(data.area), "area.told", { plugin = plugin.name, stamp = data.stamp })
  end
end

return lists
