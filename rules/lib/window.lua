-- Sliding windows: how many, how much and how many different in the last seconds, exactly.
--
-- Times, values and ids are kept in three lists, in order of time. The oldest leave at the front.

local options_of = require "options"

local window = {}

local MOST = 1000

local function check(options)
  options_of.need("window", "seconds", options.seconds, options_of.length)
  options_of.may("window", "most", options.most, options_of.some)
  options_of.may("window", "late", options.late, options_of.amount)
end

-- How many times are at or before a moment.
local function until_moment(times, at)
  local low, high = 1, #times + 1
  while low < high do
    local middle = (low + high) // 2
    if times[middle] <= at then low = middle + 1 else high = middle end
  end
  return low - 1
end

-- Drops values that no window needs any more, and the oldest of too many. `lost` is the latest of the latter.
local function trim(kept, options)
  local times, values, ids = kept.times, kept.values, kept.ids
  local gone = until_moment(times, times[#times] - options.seconds - (options.late or 0))
  local over = #times - (options.most or MOST)
  if over > gone then
    gone = over
    kept.lost = math.max(kept.lost or times[gone], times[gone])
  end
  if gone == 0 then return end
  local count = #times
  for _, list in ipairs { times, values, ids } do
    table.move(list, gone + 1, count, 1)
    for i = count - gone + 1, count do list[i] = nil end
  end
end

local function has(ids, id)
  for i = #ids, 1, -1 do
    if ids[i] == id then return true end
  end
  return false
end

--- Adds an event of the moment `at` with a value (1). With an `id` (a text) the same event counts once. Returns whether
--- it was added.
function window.add(kept, options, at, value, id)
  check(options)
  if not kept.times then kept.times, kept.values, kept.ids = array {}, array {}, array {} end
  if id and has(kept.ids, id) then return false end
  local place = until_moment(kept.times, at) + 1
  table.insert(kept.times, place, at)
  table.insert(kept.values, place, value or 1)
  table.insert(kept.ids, place, id or "")
  trim(kept, options)
  return true
end

-- The first and the last index of the window that ends at a moment, and whether nothing of it was lost.
local function bounds(kept, options, at)
  check(options)
  local begin = at - options.seconds
  return until_moment(kept.times, begin) + 1, until_moment(kept.times, at), not kept.lost or kept.lost <= begin
end

--- How many events are in the window that ends at `at`: later than `options.seconds` before. False as the second result
--- says that there were more.
function window.count(kept, options, at)
  if not kept.times then return 0, true end
  local first, last, exact = bounds(kept, options, at)
  return last - first + 1, exact
end

--- The sum of the values in the window.
function window.sum(kept, options, at)
  if not kept.times then return 0, true end
  local first, last, exact = bounds(kept, options, at)
  local sum = 0
  for i = first, last do sum = sum + kept.values[i] end
  return sum, exact
end

--- How many different values there are in the window.
function window.distinct(kept, options, at)
  if not kept.times then return 0, true end
  local first, last, exact = bounds(kept, options, at)
  local seen, n = {}, 0
  for i = first, last do
    local value = kept.values[i]
    if not seen[value] then seen[value], n = true, n + 1 end
  end
  return n, exact
end

return window
