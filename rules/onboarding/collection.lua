-- A user's stamps in the order of claiming, and the milestones and achievements of the collection.
local inbox = require "inbox"
local stamps = require "stamps"

local collection = {}

function collection.has(state, id)
  for _, claimed in ipairs(state.stamps or {}) do
    if claimed.stamp == id then return true end
  end
  return false
end

function collection.of(state)
  local items = state.stamps or array {}
  return { items = items, count = #items }
end

local function areas(state)
  local seen, count = {}, 0
  for _, claimed in ipairs(state.stamps) do
    local stamp = stamps.get(claimed.stamp)
    if stamp and stamp.area and not seen[stamp.area] then
      seen[stamp.area] = true
      count = count + 1
    end
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
  for _, milestone in ipairs(settings.milestones) do
    if count == milestone and once("milestone:" .. milestone) then
      local stamp_count = count == 1 and "1 stamp" or count .. " stamps"
      inbox.add(state, subject, "milestone", { count = stamp_count, relatedStampId = id })
    end
  end
  for _, achievement in ipairs(ACHIEVEMENTS) do
    if achievement.measure(state) >= settings[achievement.figure] and once("achievement:" .. achievement.name) then
      inbox.add(state, subject, "achievement", { text = achievement.name, relatedStampId = id })
    end
  end
end

function collection.add(state, subject, id)
  state.stamps = state.stamps or array {}
  table.insert(state.stamps, { stamp = id, claimedAt = calendar.format(now()) })
  celebrate(state, subject, id)
end

return collection
