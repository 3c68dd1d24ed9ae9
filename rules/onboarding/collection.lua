-- A user's stamps in the order of claiming: whether one may be claimed, the milestones and the achievements.
local bell = require "bell"
local fields = require "fields"
local metrics = require "metrics"
local places = require "places"
local welcome = require "welcome"

local collection = {}

local STAMPS = places.new("stamps.json", data("stamps.json"))

--- The stamp of the catalogue; nil for another id.
function collection.stamp(id) return id ~= nil and STAMPS[id] or nil end

function collection.of(state)
  local items = state and state.stamps or array {}
  return { items = items, count = #items }
end

local function areas(state)
  local seen, count = {}, 0
  for _, claimed in ipairs(state.stamps) do
    local stamp = STAMPS[claimed.stamp]
    if stamp and stamp.area and not seen[stamp.area] then seen[stamp.area], count = true, count + 1 end
  end
  return count
end

local function claimed_today(state)
  local today, count = calendar.day(now(), settings.time_zone), 0
  for _, claimed in ipairs(state.stamps) do
    if calendar.day(calendar.parse(claimed.claimedAt), settings.time_zone) == today then count = count + 1 end
  end
  return count
end

local ACHIEVEMENTS = {
  { name = "three_areas", figure = "areas_achieved", measure = areas },
  { name = "five_in_a_day", figure = "day_achieved", measure = claimed_today },
}

local function celebrate(state, subject, id)
  local count = #state.stamps
  if fields.is_one_of(count, settings.milestones) and once("milestone:" .. count) then
    local stamp_count = count == 1 and "1 stamp" or count .. " stamps"
    bell.add(state, subject, "milestone", { count = stamp_count, relatedStampId = id })
  end
  for _, achievement in ipairs(ACHIEVEMENTS) do
    if achievement.measure(state) >= settings[achievement.figure] and once("achievement:" .. achievement.name) then
      bell.add(state, subject, "achievement", { text = achievement.name, relatedStampId = id })
    end
  end
end

local function add(state, subject, id)
  state.stamps = state.stamps or array {}
  table.insert(state.stamps, { stamp = id, claimedAt = calendar.format(now()) })
  celebrate(state, subject, id)
end

-- Why the claim is refused, or nil; and the distance to the stamp, if it matters.
local function refusal(state, stamp, data)
  if not stamp then return "unknown_stamp" end
  if fields.find(state.stamps or {}, "stamp", stamp.id) then return "already_claimed" end
  return places.refusal(stamp, data.lat, data.lon, settings.radius_m)
end

function collection.claim(state, data, event)
  local stamp = collection.stamp(data.stamp)
  local reason, distance = refusal(state, stamp, data)
  if not reason then
    metrics.claimed(state, stamp.id)
    if stamp.id == settings.welcome_stamp then welcome.claimed(state) end
    add(state, event.subject, stamp.id)
  end
  local id = stamp and stamp.id or fields.label(data.stamp, settings.id_bytes)
  decide("claim", { ok = reason == nil, stamp = id, reason = reason, distance_m = distance })
end

-- The timer for the automatic claim of the welcome's stamp fired.
function collection.claim_due(state, _, event)
  if not welcome.is_due(state) then return end
  welcome.claimed(state)
  add(state, event.subject, settings.welcome_stamp)
end

return collection
