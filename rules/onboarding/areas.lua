-- An area knows its members and notifies them of a new stamp, once per stamp, also members of several areas.
-- A subject holds `area_members` users; further ones go to its annex, which is a subject of the same kind.
local inbox = require "inbox"
local people = require "people"
local stamps = require "stamps"

local areas = {}

local MESSAGES = { ["area.entered"] = "area.joined", ["area.left"] = "area.parted" }

-- An event of the user: tells the area who came or left.
function areas.visit(event, area)
  if not people.valid_id(area) then return decide("error", "invalid_area") end
  send("area:" .. area, MESSAGES[event.type], { user = people.of(event.subject) })
end

local function annex(subject) return subject .. "+" end

areas["area.joined"] = function(state, subject, data)
  state.members = state.members or {}
  if state.members[data.user] then return end
  if (state.count or 0) >= settings.area_members then
    state.annex = true
    send(annex(subject), "area.joined", data)
    return
  end
  state.members[data.user] = true
  state.count = (state.count or 0) + 1
end

areas["area.parted"] = function(state, subject, data)
  if state.members and state.members[data.user] then
    state.members[data.user] = nil
    state.count = state.count - 1
  end
  if state.annex then send(annex(subject), "area.parted", data) end
end

areas["stamp.published"] = function(state, subject, data)
  if not stamps.get(data.stamp) then return decide("error", "unknown_stamp") end
  if not once("published:" .. data.stamp) then return end
  for user in pairs(state.members or {}) do
    send(people.subject(user), "area.told", { stamp = data.stamp })
  end
  if state.annex then send(annex(subject), "stamp.published", data) end
end

-- Notifies a user, once per stamp, whichever area it comes from.
function areas.told(state, subject, stamp)
  if once("area_stamp:" .. stamp) then inbox.add(state, subject, "area_stamp", { relatedStampId = stamp }) end
end

return areas
