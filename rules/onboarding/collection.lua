-- A user's stamps in the order of claiming: whether one may be claimed, the milestones and the achievements.
local bell = require "bell"
local fields = require "fields"
local metrics = require "metrics"
local places = require "places"
local welcome = require "welcome"

local collection = {}

local STAMPS, CATALOGUE = places.new("stamps.json", data("stamps.json"), settings.radius_m, settings.id_bytes)
local FARTHEST = 20100000 -- metres; nothing on earth is farther apart

--- The stamp of the catalogue; nil for another id.
function collection.stamp(id) return id ~= nil and STAMPS[id] or nil end

--- The name of a stamp in texts.
function collection.name(id) return STAMPS[id] and STAMPS[id].name or id end

--- The stamps that there are, in the order of stamps.json.
function collection.catalogue(_, args)
  local items, is_behind = array {}, args.after == nil
  for _, stamp in ipairs(CATALOGUE) do
    if #items >= (args.limit or settings.catalogue_page) then break end
    if is_behind and (args.area == nil or stamp.area == args.area) then items[#items + 1] = stamp end
    is_behind = is_behind or stamp.id == args.after
  end
  return { items = items, count = #CATALOGUE }
end

function collection.of(state)
  local items = state and state.stamps or array {}
  return { items = items, count = #items }
end

local MEASURES = {}

function MEASURES.stamps(state) return #state.stamps end

function MEASURES.areas(state)
  local seen, count = {}, 0
  for _, claimed in ipairs(state.stamps) do
    local stamp = STAMPS[claimed.stamp]
    if stamp and stamp.area and not seen[stamp.area] then seen[stamp.area], count = true, count + 1 end
  end
  return count
end

-- Of the civil day in the user's zone.
function MEASURES.day(state)
  local stamps, zone = state.stamps, state.time_zone or settings.time_zone
  local start = calendar.start(calendar.day(now(), zone), zone)
  local before = #stamps
  while before > 0 and calendar.parse(stamps[before].claimedAt) >= start do before = before - 1 end
  return #stamps - before
end

local function celebrate(state, subject, id)
  local count = #state.stamps
  if fields.is_one_of(count, settings.milestones) and once("milestone:" .. count) then
    local stamp_count = bell.text(state, count == 1 and "one_stamp" or "stamps", { n = count })
    bell.add(state, subject, { type = "milestone", relatedStampId = id }, { count = stamp_count })
  end
  for _, achievement in ipairs(settings.achievements) do
    local name = achievement.name
    if MEASURES[achievement.measure](state) >= achievement.at and once("achievement:" .. name) then
      bell.add(state, subject, { type = "achievement", relatedStampId = id }, {}, name)
    end
  end
end

local function add(state, subject, id)
  state.stamps = state.stamps or array {}
  table.insert(state.stamps, { stamp = id, claimedAt = calendar.format(now()) })
  celebrate(state, subject, id)
end

-- Whether nobody can have come to a position from one of the places where the user claimed a stamp.
local function is_too_fast(stamps, lat, lon)
  for i = #stamps, 1, -1 do
    local reach = places.reach(settings.too_fast, now() - calendar.parse(stamps[i].claimedAt))
    if reach > FARTHEST then return false end
    local from = STAMPS[stamps[i].stamp]
    if from and places.is_beyond(from, lat, lon, reach) then return true end
  end
  return false
end

-- Why the claim is refused, or nil; and the distance to the stamp, if it matters.
local function refusal(state, stamp, data)
  local stamps = state.stamps or {}
  if not stamp then return "unknown_stamp" end
  if fields.find(stamps, "stamp", stamp.id) then return "already_claimed" end
  local reason, distance = places.refusal(stamp, data.lat, data.lon)
  if distance and not reason and is_too_fast(stamps, data.lat, data.lon) then reason = "too_fast" end
  return reason, distance
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
