-- Points: a wallet with earned, spent, pending and expired points; multipliers, milestones, tiers, caps.

local fields = require "fields"
local options_of = require "options"

local points = {}

local DAY = 86400
local MOST = (1 << 53) - 1 -- not every reader of JSON keeps a larger whole number
local MOST_LOTS = 500
local day_of, kind_of = calendar.day, math.type

-- Options are checked with the first points of a record.
local function check(options)
  options_of.may("points", "history", options.history, options_of.count)
  options_of.may("points", "zone", options.zone, options_of.zone)
  options_of.may("points", "expire_days", options.expire_days, options_of.length)
  for cause, cap in pairs(options.caps or {}) do options_of.need("points: caps", cause, cap, options_of.amount) end
end

-- The nearest whole number that a wallet may hold.
local function holdable(n)
  if n > MOST then return MOST elseif n < -MOST then return -MOST end
  local whole = n // 1 | 0
  return n - whole < 0.5 and whole or whole + 1
end

-- One line of the history: "at cause earned times total".
local function write_down(kept, options, at, cause, earned, times)
  local most, history = options.history, kept.history
  if not most or earned == 0 then return end
  if not history then
    history = array {}
    kept.history = history
  end
  local count = #history + 1
  history[count] = (at // 1 | 0) .. " " .. cause .. " " .. earned .. " " .. times .. " " .. kept.points
  for _ = most + 1, count do table.remove(history, 1) end
end

-- The part of `n` that the day's cap of the cause still allows. A move to the day before does not give it back.
local function allowed(kept, options, at, cause, n, today)
  local cap = options.caps[cause]
  if not cap then return n end
  local day, member = kept.capped_on, "capped:" .. cause
  today = today or day_of(at, kept.zone or options.zone or "UTC")
  if not day or today > day then
    for other in pairs(options.caps) do kept["capped:" .. other] = nil end
    kept.capped_on = today
  end
  local before = kept[member] or 0
  local rest = cap - before
  if rest > n then rest = n elseif rest < 0 then rest = 0 end
  kept[member] = before + rest
  return rest
end

--- Counts another record's earnings of its last day in the day's caps, before multiplication. Returns the part that the
--- caps do not allow.
function points.join(kept, options, record)
  local over = 0
  for cause in pairs(options.caps) do
    local n = record["capped:" .. cause]
    if n then over = over + n - allowed(kept, options, nil, cause, n, record.capped_on) end
  end
  return over
end

-- Takes the points that have expired by `at`, the oldest first.
local function expire(kept, options, at)
  local lots = kept.lots
  while lots[1] and lots[1].till <= at do
    local lost = table.remove(lots, 1).points
    kept.points = kept.points - lost
    write_down(kept, options, at, "expired", -lost, 1)
  end
end

-- Of too many lots the two that are nearest become one, which expires with the later of them.
local function join_nearest(lots)
  local nearest, least = 2, math.huge
  for place = 2, #lots do
    local between = lots[place].till - lots[place - 1].till
    if between < least then nearest, least = place, between end
  end
  local earlier = table.remove(lots, nearest - 1)
  lots[nearest - 1].points = lots[nearest - 1].points + earlier.points
end

-- Points that can expire are kept in lots, in order of their end.
local function add_lot(kept, options, at, n)
  if n == 0 then return end
  local lots, till = kept.lots or array {}, at + options.expire_days * DAY
  local place = #lots + 1
  while place > 1 and lots[place - 1].till > till do place = place - 1 end
  table.insert(lots, place, { points = n, till = till })
  if #lots > MOST_LOTS then join_nearest(lots) end
  kept.lots = lots
end

local function take_from_lots(lots, n)
  while n > 0 and lots[1] do
    local taken = math.min(n, lots[1].points)
    lots[1].points, n = lots[1].points - taken, n - taken
    if lots[1].points == 0 then table.remove(lots, 1) end
  end
end

--- Adds `n` times `times` (1) points, rounded, as far as the day's cap of the cause allows, and up to 2^53 - 1 in all.
--- Returns how many; and `cap` or `full` if there were less, `invalid_amount` if `n` or `times` is no number of 0 or
--- more. `today` is the civil day, where it is known.
function points.earn(kept, options, at, cause, n, times, today)
  times = times or 1
  if not (kind_of(n) and kind_of(times) and n >= 0 and times >= 0) then return 0, "invalid_amount" end
  if not kept.points then check(options) end
  local base = options.caps and allowed(kept, options, at, cause, n, today) or n
  if kept.lots then expire(kept, options, at) end
  local before, due = kept.points or 0, base * (times + 0.0)
  local earned = holdable(due)
  if earned > MOST - before then earned = math.max(0, MOST - before) end
  kept.points = holdable(before + earned)
  if options.expire_days then add_lot(kept, options, at, earned) end
  write_down(kept, options, at, cause, earned, times)
  local why = base < n and "cap" or earned < due - 0.5 and "full" or nil
  if why then return earned, why end
  return earned
end

--- Takes `n` points, those that expire first before the others. Returns true; or false and why: `invalid_amount` (no
--- whole number above 0), `insufficient_points`.
function points.spend(kept, options, at, cause, n)
  n = fields.whole(n)
  if not n or n <= 0 then return false, "invalid_amount" end
  if kept.lots then expire(kept, options, at) end
  if n > (kept.points or 0) then return false, "insufficient_points" end
  kept.points = kept.points - n
  if kept.lots then take_from_lots(kept.lots, n) end
  write_down(kept, options, at, cause, -n, 1)
  return true
end

--- The points that can be spent at a moment. Changes nothing.
function points.balance(kept, at)
  local balance = kept.points or 0
  for _, lot in ipairs(kept.lots or {}) do
    if lot.till <= at then balance = balance - lot.points end
  end
  return balance
end

--- Keeps points back until `till`, such as those of an order that may be returned. False if the id is pending already,
--- or if `n` is no number of 0 or more.
function points.hold(kept, id, till, cause, n)
  if not (kind_of(n) and n >= 0) then return false end
  local pending = kept.pending or {}
  id = fields.name(id)
  if pending[id] then return false end
  pending[id] = { till = till, cause = cause, points = holdable(n) }
  kept.pending = pending
  return true
end

--- Drops pending points. Returns how many; nil if none are pending under the id.
function points.drop(kept, id)
  id = fields.name(id)
  local held = kept.pending and kept.pending[id]
  if not held then return nil end
  kept.pending[id] = nil
  return held.points
end

--- Earns the pending points whose time has come. Returns how many points, and when the next ones are due, for a timer.
function points.settle(kept, options, at)
  local earned, next_at = 0, nil
  for id, held in pairs(kept.pending or {}) do
    if held.till <= at then
      kept.pending[id] = nil
      earned = earned + points.earn(kept, options, at, held.cause, held.points)
    else
      next_at = math.min(next_at or held.till, held.till)
    end
  end
  return earned, next_at
end

--- How many times points count: `times` of the highest step whose member `measure` is reached, else 1.
function points.times(steps, measure, n)
  local highest, times = nil, 1
  for i = 1, #steps do
    local step = steps[i]
    local least = step[measure]
    if n >= least and (not highest or least > highest) then highest, times = least, step.times end
  end
  return times
end

--- Marks the milestones `{ type, at }` that `n` reaches for the first time, lowest first, and calls
--- `reached(kept, milestone)` for each. Returns them, or nil.
function points.milestones(kept, ladder, n, reached)
  local new, passed = nil, kept.milestones
  for _, milestone in ipairs(ladder) do
    if n < milestone.at then break end
    if not (passed and passed[milestone.type]) then
      passed = passed or {}
      passed[milestone.type] = true
      kept.milestones = passed
      reached(kept, milestone)
      new = new or {}
      new[#new + 1] = milestone
    end
  end
  return new
end

--- The milestones that were reached, in order, and the next one with what `remaining` there is; nil after the last.
function points.standing(kept, ladder, n)
  local behind, ahead = array {}, nil
  for _, milestone in ipairs(ladder) do
    if kept.milestones and kept.milestones[milestone.type] then
      behind[#behind + 1] = { type = milestone.type, reward = milestone.reward }
    elseif not ahead then
      ahead = { type = milestone.type, at = milestone.at, remaining = math.max(0, milestone.at - n) }
    end
  end
  return behind, ahead
end

--- The place of a tier in a ladder, lowest first; nil for a name that is not there.
function points.place(ladder, name) return (fields.find(ladder, "name", name)) end

--- For the name of each tier, and for "", the least that the tiers above it need of each measure: `{[measure] = n}`.
--- Made at load, it tells with a comparison or two that no tier is reached. Nothing for the highest tier.
function points.least(ladder, measures)
  local least, above = {}, nil
  for place = #ladder, 1, -1 do
    local needs = {}
    for _, measure in ipairs(measures) do
      needs[measure] = math.min(ladder[place][measure], above and above[measure] or math.huge)
    end
    above = needs
    least[place > 1 and ladder[place - 1].name or ""] = needs
  end
  return least
end

-- The names of the tiers above `held` up to the one at `place`, lowest first.
local function names_up_to(ladder, place, held)
  local names, first = array {}, place
  while first > 1 and ladder[first - 1].name ~= held do first = first - 1 end
  for i = first, place do names[#names + 1] = ladder[i].name end
  return names
end

--- The tiers of a ladder that are reached above `kept.tier`, which becomes the highest of them: their names, and the
--- reason, as `reached(tier, kept, measure)` gives it: a text, or nil. Nil if nothing is reached.
function points.climb(kept, ladder, reached, measure)
  local held = kept.tier
  for place = #ladder, 1, -1 do
    local tier = ladder[place]
    if tier.name == held then return nil end
    local how = reached(tier, kept, measure)
    if how then
      kept.tier = tier.name
      return names_up_to(ladder, place, held), how
    end
  end
end

--- The newest `limit` changes, newest first: `{ at, cause, earned, multiplier, total }`.
function points.history(kept, limit)
  local lines, records = kept.history or {}, array {}
  for i = #lines, math.max(1, #lines - limit + 1), -1 do
    local at, cause, earned, times, total = string.match(lines[i], "^(%S+) (.*) (%S+) (%S+) (%S+)$")
    records[#records + 1] = {
      at = calendar.format(tonumber(at)), cause = cause, earned = tonumber(earned), multiplier = tonumber(times),
      total = tonumber(total),
    }
  end
  return records
end

return points
