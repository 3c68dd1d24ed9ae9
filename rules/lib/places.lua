-- Places that can be claimed on the spot, from a list in a data file: `{ id, name, image, area, lat, lon, radius_m }`,
-- or with `requiresLocation = false` from anywhere.

local fields = require "fields"
local subjects = require "subjects"

local places = {}

local MEMBERS = { "id", "name", "image", "area", "lat", "lon", "radius_m", "requiresLocation" }

local function is_degrees(value, most) return type(value) == "number" and value >= -most and value <= most end

local function is_position(lat, lon) return is_degrees(lat, 90) and is_degrees(lon, 180) end

local function is_text(value) return type(value) == "string" and value ~= "" end

local function problem_of(place, most)
  local unknown = fields.unknown(place, MEMBERS)
  if unknown then return "has '" .. unknown .. "', which means nothing" end
  if not is_text(place.id) then return "has no id" end
  if not is_text(place.name) then return "has no name" end
  if place.area ~= nil and not subjects.is_id(place.area, most) then
    return "has an area that is no text of at most " .. most .. " bytes"
  end
  if place.requiresLocation == false then return nil end
  if place.requiresLocation ~= nil and place.requiresLocation ~= true then
    return "has requiresLocation that is neither true nor false"
  end
  if place.lat == nil or place.lon == nil then return "has neither lat and lon nor requiresLocation false" end
  if not is_position(place.lat, place.lon) then return "is nowhere on earth" end
  local radius_m = place.radius_m
  if radius_m and not (type(radius_m) == "number" and radius_m > 0) then return "has a radius_m that is no distance" end
end

-- The place with the radius that counts.
local function completed(place, radius_m)
  local all = {}
  for member, value in pairs(place) do all[member] = value end
  if place.requiresLocation ~= false then all.radius_m = place.radius_m or radius_m end
  return all
end

--- The places by id, and in the order of the list, each with its own radius or `radius_m`. To be called at load, which
--- a wrong place refuses: without an id, a name or a position, with another member, with an area that is no text of at
--- most `area_bytes`, or that is there twice.
function places.new(file, list, radius_m, area_bytes)
  local by_id, all = {}, array {}
  for i, place in ipairs(list) do
    local problem = problem_of(place, area_bytes) or by_id[place.id] and "is there twice"
    if problem then error(file .. ": the place " .. tostring(place.id) .. " " .. problem, 0) end
    all[i] = completed(place, radius_m)
    by_id[place.id] = all[i]
  end
  return by_id, all
end

--- Why somebody at a position can't claim a place, or nil: `location_required`, `invalid_location`, `too_far`, which is
--- beyond the place's radius. And the distance in metres, where it matters.
function places.refusal(place, lat, lon)
  if place.requiresLocation == false then return nil end
  if lat == nil or lon == nil then return "location_required" end
  if not is_position(lat, lon) then return "invalid_location" end
  local distance = geo.distance(lat, lon, place.lat, place.lon)
  return distance > place.radius_m and "too_far" or nil, distance
end

--- How far somebody may be after so many seconds, in metres: `options` are `km_h`, how fast one can travel, and
--- `from_km`, a distance that needs no time. Any distance if `km_h` is 0.
function places.reach(options, seconds)
  if options.km_h == 0 then return math.huge end
  return options.from_km * 1000 + math.max(0, seconds) * options.km_h / 3.6
end

--- Whether a position is out of reach from a place within whose radius one had to be.
function places.is_beyond(place, lat, lon, reach)
  return place.requiresLocation ~= false and geo.distance(lat, lon, place.lat, place.lon) > reach + place.radius_m
end

return places
