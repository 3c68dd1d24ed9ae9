-- Streaks: civil days, weeks or months in a row with an activity, in the user's own zone.
--
-- Periods are numbers: `streak.today`. `counted` is the latest one that counted; `due` is the last one in which the
-- next activity continues the streak: the one after `counted`, except after a move east, which skips a date, or a
-- pause.

local options_of = require "options"

local streak = {}

local NONE = {}

-- The period of a moment, by unit.
local PERIODS = {
  day   = calendar.day,
  week  = function(at, zone) return (calendar.day(at, zone) + 3) // 7 end, -- day 0, 1970-01-01, was a Thursday
  month = function(at, zone)
    local year, month = calendar.month(at, zone):match("(%d+)-(%d+)")
    return year * 12 + month
  end,
}

local UNIT = options_of.kind("day, week or month", function(unit) return PERIODS[unit] ~= nil end)

local function check(options)
  options_of.need("streak", "zone", options.zone, options_of.zone)
  options_of.may("streak", "unit", options.unit, UNIT)
  options_of.may("streak", "late", options.late, options_of.count)
  local freezes = options.freezes
  if not freezes then return end
  options_of.may("streak: freezes", "at_start", freezes.at_start, options_of.count)
  options_of.may("streak: freezes", "every", freezes.every, options_of.some)
  options_of.may("streak: freezes", "most", freezes.most, options_of.count)
  options_of.may("streak: freezes", "in_a_row", freezes.in_a_row, options_of.count)
end

--- The period of a moment in a zone: the civil day, or the week from Monday, or the month, as `options.unit` says.
function streak.period(zone, options, at)
  local period = PERIODS[options.unit or "day"]
  if not period then error("streak: `unit` is day, week or month, not " .. tostring(options.unit), 0) end
  return period(at, zone)
end

local function held_by(kept, freezes) return kept.freezes or freezes.at_start or 0 end

--- The user's present period.
function streak.today(kept, options, at) return streak.period(kept.zone or options.zone, options, at) end

-- `left`: periods until the streak is due; negative: periods missed. The number is frozen during a pause.
local function is_alive(kept, freezes, left)
  return -left <= (freezes.in_a_row or 1) and -left <= held_by(kept, freezes)
end

--- The streak as the user sees it: 0 once it can't be continued.
function streak.current(kept, options, today)
  local due = kept.due
  if not due then return 0 end
  return is_alive(kept, options.freezes or NONE, kept.paused or due - today) and kept.streak or 0
end

-- An activity in a period after all that counted.
local function step(kept, freezes, today)
  local previous, change, held = kept.streak or 0, "increment", held_by(kept, freezes)
  local due = kept.due
  if due and today > due then
    if is_alive(kept, freezes, due - today) then
      change, held = "freeze_used", held - (today - due)
    else
      change = "reset"
    end
  end
  local streak_now = change == "reset" and 1 or previous + 1
  if freezes.every and streak_now % freezes.every == 0 then held = math.min(freezes.most or math.huge, held + 1) end
  kept.streak, kept.counted, kept.due, kept.freezes = streak_now, today, today + 1, held
  return change, previous
end

local function copy(from, to)
  to.streak, to.counted, to.due, to.freezes = from.streak, from.counted, from.due, from.freezes
  return to
end

-- Keeps a period among the recent ones, so that a late one can be put before it. `before` is the streak before them.
local function remember(kept, options, freezes, today)
  kept.before, kept.recent = kept.before or copy(kept, {}), kept.recent or array {}
  local recent = kept.recent
  recent[#recent + 1] = today
  while recent[1] < today - options.late do step(kept.before, freezes, table.remove(recent, 1)) end
end

-- Puts a late period among the recent ones, and counts them again from the streak before them.
local function insert(kept, options, freezes, today)
  local recent, place, previous, before = kept.recent, 1, kept.streak, kept.before and kept.before.counted
  if not recent or today < kept.counted - options.late or before and today <= before then return nil end
  while recent[place] and recent[place] < today do place = place + 1 end
  if recent[place] == today then return nil end
  table.insert(recent, place, today)
  copy(kept.before, kept)
  for _, period in ipairs(recent) do step(kept, freezes, period) end
  return "late", previous
end

--- Notes an activity of a period. Returns the change (`increment`, `freeze_used`, `reset`, or `late` for one before the
--- last that counted) and the streak before; nothing if the period has counted already, or is more than `options.late`
--- periods before the last. The options are checked with the first activity of a record.
function streak.touch(kept, options, today)
  local counted, late = kept.counted, options.late
  if not counted then check(options) end
  if counted and today <= counted then
    if late then return insert(kept, options, options.freezes or NONE, today) end
    return nil
  end
  if late then remember(kept, options, options.freezes or NONE, today) end
  return step(kept, options.freezes or NONE, today)
end

-- No late day goes before this moment.
local function settle(kept)
  if kept.recent then kept.before, kept.recent = copy(kept, {}), array {} end
end

-- A jump of the calendar does not change the periods left: a live streak stays alive, an ended one stays ended. A date
-- never counts twice: after a move west, the next date that can count is still in time.
local function carry(kept, options, left, today)
  local due = today + left
  if is_alive(kept, options.freezes or NONE, left) then due = math.max(due, kept.counted + 1) end
  kept.due = due
  settle(kept)
end

--- Moves the user to another time zone, which changes the civil date. Returns the new present period, or nil for a zone
--- that does not exist.
function streak.move(kept, options, at, zone)
  local known, there = pcall(streak.period, zone, options, at)
  if not known then return nil end
  local due = kept.due
  if due and not kept.paused then carry(kept, options, due - streak.today(kept, options, at), there) end
  kept.zone = zone
  return there
end

--- Goes on with the streak of another record of the same user, as of a device, where it is longer at the moment. The
--- last period that counted here counts in it, too.
function streak.join(kept, options, at, other)
  local theirs = copy(other, { zone = other.zone, paused = other.paused })
  local today = streak.move(theirs, options, at, kept.zone or options.zone)
  streak.resume(theirs, options, today)
  if streak.current(theirs, options, today) <= streak.current(kept, options, today) then return end
  local counted = kept.counted
  copy(theirs, kept)
  settle(kept)
  if counted then streak.touch(kept, options, counted) end
  kept.paused = kept.paused and kept.due - today
end

--- During a pause a streak neither grows nor breaks.
function streak.pause(kept, today)
  if kept.due and not kept.paused then kept.paused = kept.due - today end
end

function streak.resume(kept, options, today)
  if kept.paused then carry(kept, options, kept.paused, today) end
  kept.paused = nil
end

return streak
