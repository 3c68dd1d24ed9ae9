-- The catalogue of stamps.json, by id. A stamp needs coordinates or `"requiresLocation": false`. A file with a stamp
-- that has neither is refused at load, and the previous catalogue stays in force.
local list = data("stamps.json")
local by_id = {}

for _, stamp in ipairs(list) do
  local name = "stamps.json: the stamp " .. tostring(stamp.id)
  assert(type(stamp.id) == "string", name .. " has no id")
  assert(not by_id[stamp.id], name .. " is there twice")
  local placed = type(stamp.lat) == "number" and type(stamp.lon) == "number"
  assert(placed or stamp.requiresLocation == false, name .. " has neither lat and lon nor requiresLocation false")
  by_id[stamp.id] = stamp
end

local stamps = {}

function stamps.get(id) return id ~= nil and by_id[id] or nil end

return stamps
