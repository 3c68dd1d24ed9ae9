-- An area knows its members and notifies them of a new stamp, once per stamp, also members of several areas.
local bell = require "bell"
local collection = require "collection"
local members = require "members"
local subjects = require "subjects"

local areas = {}

local MESSAGES = { ["area.entered"] = "area.joined", ["area.left"] = "area.parted" }

-- An event of the user: tells the area who came or left.
function areas.visit(_, data, event)
  if not subjects.is_id(data.area, settings.id_bytes) then return decide("error", "invalid_area") end
  send("area:" .. data.area, MESSAGES[event.type], { user = subjects.id("user:", event.subject) })
end

function areas.joined(state, data, event) members.join(state, settings.area_members, event, data.user) end

function areas.parted(state, data, event) members.leave(state, event, data.user) end

function areas.published(state, data, event)
  if not collection.stamp(data.stamp) then return decide("error", "unknown_stamp") end
  if once("published:" .. data.stamp) then members.tell(state, event, "user:", "area.told", { stamp = data.stamp }) end
end

-- Notifies a user, once per stamp, whichever area it comes from.
function areas.told(state, data, event)
  if not once("area_stamp:" .. data.stamp) then return end
  bell.add(state, event.subject, "area_stamp", { relatedStampId = data.stamp })
end

return areas
