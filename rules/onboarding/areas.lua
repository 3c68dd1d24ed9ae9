-- The members of an area are a topic, which a user joins and leaves. A new stamp is published to it, once, in its own
-- area only.
local bell = require "bell"
local collection = require "collection"
local fields = require "fields"
local lists = require "lists"
local subjects = require "subjects"

local areas = {}

local topic_of = lists.topic

-- The user leaves the area that was entered first, where there would be too many.
local function join(state, area)
  local first
  state.areas, first = fields.with(state.areas, area, settings.areas_kept)
  if first then topic.leave(topic_of(first)) end
  topic.join(topic_of(area))
end

-- An event of the user who came into an area.
function areas.enter(state, data)
  if not subjects.is_id(data.area, settings.id_bytes) then return decide("error", "invalid_area") end
  join(state, data.area)
end

function areas.leave(state, data, event)
  if not subjects.is_id(data.area, settings.id_bytes) then return decide("error", "invalid_area") end
  state.areas = fields.without(state.areas, data.area)
  topic.leave(topic_of(data.area))
  lists.leave(data.area, event)
end

-- A stamp that has no area, as the welcome's, is published nowhere.
function areas.published(state, data, event)
  local stamp, area = collection.stamp(data.stamp), subjects.id("area:", event.subject)
  if not area then return decide("error", "invalid_area") end
  if not stamp then return decide("error", "unknown_stamp") end
  if stamp.area ~= area then return decide("error", "wrong_area") end
  if not once("published:" .. stamp.id) then return end
  lists.publish(state, { plugin = plugin.name, stamp = stamp.id, area = area }, event)
end

-- Notifies a member, once per stamp, whichever area it comes from. One whom an area's list had joins its topic; nobody
-- comes back who has nothing else here, as they may be forgotten.
function areas.told(state, data, event)
  if data.area and next(state) == nil then return end
  if data.area then join(state, data.area) end
  if not once("area_stamp:" .. data.stamp) then return end
  local notification = { type = "area_stamp", relatedStampId = data.stamp }
  bell.add(state, event.subject, notification, { stamp = collection.name(data.stamp) })
end

return areas
