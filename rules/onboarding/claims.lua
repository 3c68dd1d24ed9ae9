-- Whether a user may claim a stamp: the welcome stamp from anywhere, any other within its radius, each once.
local collection = require "collection"
local fields = require "fields"
local metrics = require "metrics"
local stamps = require "stamps"
local welcome = require "welcome"

local claims = {}

local function degrees(value, most) return type(value) == "number" and value >= -most and value <= most end

-- Why the claim is refused, or nil; and the distance to the stamp, if it matters.
local function judge(state, id, lat, lon)
  local stamp = stamps.get(id)
  if not stamp then return "unknown_stamp" end
  if collection.has(state, id) then return "already_claimed" end
  if stamp.requiresLocation == false then return nil end
  if lat == nil or lon == nil then return "location_required" end
  if not (degrees(lat, 90) and degrees(lon, 180)) then return "invalid_location" end
  local distance = geo.distance(lat, lon, stamp.lat, stamp.lon)
  if distance > (stamp.radius_m or settings.radius_m) then return "too_far", distance end
  return nil, distance
end

function claims.ask(state, subject, id, lat, lon)
  local reason, distance = judge(state, id, lat, lon)
  if not reason then
    metrics.claimed(state, id)
    if id == settings.welcome_stamp then
      welcome.take(state, subject)
    else
      collection.add(state, subject, id)
    end
  end
  local stamp = id
  if reason == "unknown_stamp" then stamp = fields.label(id, settings.id_bytes) end
  decide("claim", { ok = reason == nil, stamp = stamp, reason = reason, distance_m = distance })
end

return claims
