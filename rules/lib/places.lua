-- Places that can be claimed on the spot, from a list in a data file: `{ id, lat, lon, radius_m }`, or with
-- `requiresLocation = false` from anywhere.

local places = {}

--- The places by id. To be called at load: a list with a place that has no id, no position, or is there twice is
--- refused.
function places.new(file, list)
  local by_id = {}
  for _, place in ipairs(list) do
    local name = file .. ": the place " .. tostring(place.id)
    assert(type(place.id) == "string", name .. " has no id")
    assert(not by_id[place.id], name .. " is there twice")
    local is_placed = type(place.lat) == "number" and type(place.lon) == "number"
    assert(is_placed or place.requiresLocation == false, name .. " has neither lat and lon nor requiresLocation false")
    by_id[place.id] = place
  end
  return by_id
end

local function is_degrees(value, most) return type(value) == "number" and value >= -most and value <= most end

--- Why somebody at a position can't claim a place, or nil: `location_required`, `invalid_location`, `too_far`, which is
--- beyond the place's own radius or `radius_m`. And the distance in metres, where it matters.
function places.refusal(place, lat, lon, radius_m)
  if place.requiresLocation == false then return nil end
  if lat == nil or lon == nil then return "location_required" end
  if not (is_degrees(lat, 90) and is_degrees(lon, 180)) then return "invalid_location" end
  local distance = geo.distance(lat, lon, place.lat, place.lon)
  return distance > (place.radius_m or radius_m) and "too_far" or nil, distance
end

return places
