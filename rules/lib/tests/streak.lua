-- Streaks: days, weeks, months; freezes; the clocks' changes; travel; late days; pauses.

local streak = require "streak"

local DAILY = { zone = "UTC", freezes = { at_start = 1, every = 7, most = 2 } }
local PLAIN = { zone = "UTC" }

local function answer(...) return { ... } end

-- The streak after activities on these days.
local function after(options, days, kept)
  kept = kept or {}
  for _, day in ipairs(days) do streak.touch(kept, options, day) end
  return kept
end

test "days in a row grow a streak, and a day counts once" (function(t)
  local kept = {}
  t:equal(answer(streak.touch(kept, PLAIN, 10)), { "increment", 0 })
  t:equal(answer(streak.touch(kept, PLAIN, 10)), {})
  t:equal(answer(streak.touch(kept, PLAIN, 11)), { "increment", 1 })
  t:equal(answer(streak.touch(kept, PLAIN, 9)), {})
  t:equal(kept, { streak = 2, counted = 11, due = 12, freezes = 0 })
end)

test "without freezes a missed day begins a new streak" (function(t)
  local kept = after(PLAIN, { 10, 11 })
  t:equal(answer(streak.touch(kept, PLAIN, 13)), { "reset", 2 })
  t:equal(kept.streak, 1)
end)

test "a freeze covers one missed day, and is gone" (function(t)
  local kept = after(DAILY, { 10, 11 })
  t:equal(answer(streak.touch(kept, DAILY, 13)), { "freeze_used", 2 })
  t:equal({ kept.streak, kept.freezes }, { 3, 0 })
  t:equal(answer(streak.touch(kept, DAILY, 15)), { "reset", 3 })
end)

test "two missed days in a row need a setting that allows it" (function(t)
  local two = { zone = "UTC", freezes = { at_start = 2, most = 2, in_a_row = 2 } }
  local kept = after(two, { 10 })
  t:equal(answer(streak.touch(kept, two, 13)), { "freeze_used", 1 })
  t:equal(kept.freezes, 0)
  local one = { zone = "UTC", freezes = { at_start = 2, most = 2 } }
  t:equal(streak.touch(after(one, { 10 }), one, 13), "reset")
  local short = { zone = "UTC", freezes = { at_start = 1, most = 2, in_a_row = 2 } }
  t:equal(streak.touch(after(short, { 10 }), short, 13), "reset")
end)

test "freezes are earned on the way, up to the most" (function(t)
  local kept = {}
  for day = 1, 6 do streak.touch(kept, DAILY, day) end
  t:equal(kept.freezes, 1)
  for day = 7, 21 do streak.touch(kept, DAILY, day) end
  t:equal({ kept.streak, kept.freezes }, { 21, 2 })
end)

test "a member of the freezes that is left out is none at the start, none earned, or no bound" (function(t)
  local function freezes(members, days)
    local kept, options = {}, { zone = "UTC", freezes = members }
    for day = 1, days do streak.touch(kept, options, day) end
    return kept.freezes
  end
  t:equal({ freezes({ every = 7, most = 2 }, 6), freezes({ every = 7, most = 2 }, 21) }, { 0, 2 })
  t:equal({ freezes({ at_start = 1, every = 7 }, 7), freezes({ at_start = 1, every = 7 }, 35) }, { 2, 6 })
  t:equal({ freezes({ at_start = 1, most = 2 }, 14), freezes({}, 7) }, { 1, 0 })
end)

test "a unit that there is not is refused" (function(t)
  local options = { zone = "UTC", unit = "weeks" }
  t:fails(function() streak.today({}, options, 0) end, "`unit` is day, week or month, not weeks")
end)

test "the streak is shown while it can be continued" (function(t)
  local kept = after(DAILY, { 10, 11 })
  t:equal(streak.current(kept, DAILY, 11), 2)
  t:equal(streak.current(kept, DAILY, 13), 2)
  t:equal(streak.current(kept, DAILY, 14), 0)
  t:equal(streak.current(after(PLAIN, { 10 }), PLAIN, 11), 1)
  t:equal(streak.current(after(PLAIN, { 10 }), PLAIN, 12), 0)
  t:equal(streak.current({}, PLAIN, 12), 0)
end)

test "a day, a week from Monday and a month are periods of the zone" (function(t)
  local sunday, monday = calendar.parse "2025-11-30T23:30:00+01:00", calendar.parse "2025-12-01T00:00:00+01:00"
  t:each({ "day", "week", "month" }, function(unit)
    local options = { zone = "Europe/Berlin", unit = unit }
    t:equal(streak.today({}, options, monday), streak.today({}, options, sunday) + 1)
    t:equal(streak.today({}, options, monday + 3600), streak.today({}, options, monday))
    t:equal(streak.today({ zone = "America/New_York" }, options, monday), streak.today({}, options, sunday))
  end)
  local monthly = { zone = "UTC", unit = "month" }
  local december = streak.today({}, monthly, calendar.parse "2025-12-31T12:00:00Z")
  t:equal(streak.today({}, monthly, calendar.parse "2026-01-01T00:00:00Z"), december + 1)
  t:equal(streak.today({}, monthly, calendar.parse "2026-12-01T00:00:00Z"), december + 12)
  local weekly = { zone = "UTC", unit = "week" }
  t:equal(streak.today({}, weekly, calendar.parse "2025-11-24T00:00:00Z") + 1,
    streak.today({}, weekly, calendar.parse "2025-12-01T00:00:00Z"))
  t:equal(streak.today({}, PLAIN, 86400 * 3 + 5), 3)
end)

test "an activity each day never breaks a streak, whatever the clocks do" (function(t)
  t:property(60, function(random)
    return {
      zone = random:pick { "Europe/Berlin", "America/New_York", "Pacific/Auckland", "America/Sao_Paulo" },
      first = random:integer(20000, 20700), days = random:integer(1, 60),
      at = random:pick { "00:00", "02:30", "23:59" },
    }
  end, function(case)
    local options, kept = { zone = case.zone }, {}
    for day = case.first, case.first + case.days - 1 do
      streak.touch(kept, options, streak.today(kept, options, calendar.at(day, case.at, case.zone)))
    end
    t:equal(kept.streak, case.days)
  end)
end)

test "a move to another zone neither counts a date twice nor breaks a living streak" (function(t)
  local zones = { "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin", "Asia/Tokyo", "America/Los_Angeles" }
  t:property(60, function(random)
    return random:list(40, function(r)
      return { hours = r:integer(1, 20), to = r:boolean() and r:pick(zones) or nil }
    end)
  end, function(steps)
    local options, kept, at, dates = { zone = "UTC" }, {}, 1762732800, {}
    for _, one in ipairs(steps) do
      at = at + one.hours * 3600
      if one.to then streak.move(kept, options, at, one.to) end
      local today = streak.today(kept, options, at)
      local change, previous = streak.touch(kept, options, today)
      if change then
        t:truthy(change ~= "reset") -- the longest time without an activity is 20 hours
        t:equal(kept.streak, previous + 1)
        t:equal(dates[today], nil)
        dates[today] = true
      end
    end
  end)
end)

test "a move tells the date there, and knows zones from other texts" (function(t)
  local kept, at = after(PLAIN, { 20402 }), 20402 * 86400 + 12 * 3600
  t:equal(streak.move(kept, PLAIN, at, "Pacific/Kiritimati"), 20403)
  t:equal(kept, { streak = 1, counted = 20402, due = 20404, freezes = 0, zone = "Pacific/Kiritimati" })
  t:equal(streak.move(kept, PLAIN, at, "Pacific/Nowhere"), nil)
  t:equal(kept.zone, "Pacific/Kiritimati")
  t:equal(streak.move({}, PLAIN, at, "UTC"), 20402)
end)

test "a move does not bring an ended streak back" (function(t)
  local kept, at = after(PLAIN, { 20400 }), 20402 * 86400 + 3600
  streak.move(kept, PLAIN, at, "America/Los_Angeles")
  t:equal(streak.current(kept, PLAIN, streak.today(kept, PLAIN, at)), 0)
  streak.move(kept, PLAIN, at, "Pacific/Pago_Pago")
  t:equal(streak.touch(kept, PLAIN, streak.today(kept, PLAIN, at)), "reset")
end)

test "a move west leaves the next date that can count in time" (function(t)
  local kept, at = after({ zone = "Pacific/Kiritimati" }, { 20403 }), 20402 * 86400 + 12 * 3600
  kept.zone = "Pacific/Kiritimati"
  t:equal(streak.move(kept, PLAIN, at, "UTC"), 20402)
  t:equal(kept.due, 20404)
  t:equal(streak.touch(kept, PLAIN, 20402), nil)
  t:equal(streak.touch(kept, PLAIN, 20404), "increment")
end)

test "a pause keeps the days that are left" (function(t)
  local kept = after(PLAIN, { 10, 11 })
  streak.pause(kept, 12)
  streak.pause(kept, 15)
  t:equal(streak.current(kept, PLAIN, 40), 2)
  streak.move(kept, PLAIN, 40 * 86400, "Asia/Tokyo")
  t:equal(kept.paused, 0)
  streak.resume(kept, PLAIN, 40)
  t:equal({ kept.paused, kept.due }, { nil, 40 })
  t:equal(streak.touch(kept, PLAIN, 40), "increment")
  streak.resume(kept, PLAIN, 50)
  t:equal(kept.due, 41)
  local none = {}
  streak.pause(none, 5)
  streak.resume(none, PLAIN, 6)
  t:equal(none, {})
end)

test "a pause does not bring an ended streak back" (function(t)
  local kept = after(PLAIN, { 10 })
  streak.pause(kept, 13)
  streak.resume(kept, PLAIN, 20)
  t:equal(streak.current(kept, PLAIN, 20), 0)
  t:equal(streak.touch(kept, PLAIN, 20), "reset")
end)

local LATE = { zone = "UTC", late = 3, freezes = { at_start = 1, every = 4, most = 2 } }

test "a late day closes the gap that it left" (function(t)
  local kept = after({ zone = "UTC", late = 3 }, { 10, 11, 13 })
  t:equal(kept.streak, 1)
  t:equal(answer(streak.touch(kept, { zone = "UTC", late = 3 }, 12)), { "late", 1 })
  t:equal({ kept.streak, kept.counted, kept.due }, { 4, 13, 14 })
  t:equal(streak.touch(kept, { zone = "UTC", late = 3 }, 12), nil)
  t:equal(kept.streak, 4)
end)

test "a late day gives back the freeze that was used for it" (function(t)
  local kept = after(LATE, { 10, 12 })
  t:equal(kept.freezes, 0)
  streak.touch(kept, LATE, 11)
  t:equal({ kept.streak, kept.freezes }, { 3, 1 })
end)

test "a day is too late after so many days" (function(t)
  local kept = after(LATE, { 10, 13 })
  t:equal(streak.touch(kept, LATE, 9), nil)
  t:equal(streak.touch(kept, LATE, 10), nil)
  t:equal(streak.touch(kept, LATE, 11), "late")
  t:equal(streak.touch(after(LATE, { 13 }), LATE, 10), "late")
  local long = after({ zone = "UTC", late = 3 }, { 1, 2, 3, 4, 5, 6, 7 })
  t:equal(long.recent, { 4, 5, 6, 7 })
  t:equal({ long.before.streak, long.before.counted }, { 3, 3 })
end)

test "a day from before the library kept late ones is not counted twice" (function(t)
  local kept = after(PLAIN, { 10 })
  local late = { zone = "UTC", late = 3 }
  t:equal(streak.touch(kept, late, 9), nil)
  streak.touch(kept, late, 11)
  t:equal(streak.touch(kept, late, 10), nil)
  t:equal(streak.touch(kept, late, 9), nil)
  t:equal(kept.streak, 2)
end)

test "after a move late days count from there on" (function(t)
  local late = { zone = "UTC", late = 3 }
  local kept = after(late, { 20400, 20401 })
  streak.move(kept, late, 20402 * 86400 + 3600, "Asia/Tokyo")
  t:equal(kept.recent, array {})
  after(late, { 20403 }, kept)
  t:equal(kept.streak, 1)
  t:equal(streak.touch(kept, late, 20402), "late")
  t:equal(kept.streak, 4)
  t:equal(streak.touch(kept, late, 20401), nil)
end)

test "every order of arrival within the late days ends in the same streak" (function(t)
  t:property(80, function(random)
    local days, day = {}, 100
    for i = 1, random:integer(1, 25) do
      day = day + random:pick { 1, 1, 1, 2, 3 }
      days[i] = day
    end
    local arrivals = {}
    for i, one in ipairs(days) do arrivals[i] = { day = one, at = one + random:integer(0, 3) } end
    return arrivals
  end, function(arrivals)
    local days, times = {}, {}
    for i, one in ipairs(arrivals) do days[i], times[i] = one.day, one end
    local wanted = after(LATE, days)
    table.sort(times, function(one, other)
      return one.at < other.at or one.at == other.at and one.day < other.day
    end)
    local got = {}
    for _, one in ipairs(times) do
      streak.touch(got, LATE, one.day)
      streak.touch(got, LATE, one.day) -- doubled
    end
    t:equal(got, wanted)
  end)
end)

test "the longer streak of two records goes on, with the last day of both" (function(t)
  local function joined(mine, theirs, day, kept)
    kept = after(DAILY, mine, kept)
    streak.join(kept, DAILY, day * 86400, after(DAILY, theirs))
    return { kept.streak, kept.counted, kept.due }
  end
  t:equal(joined({ 14 }, { 10, 11, 12, 13 }, 14), { 5, 14, 15 })
  t:equal(joined({ 13 }, { 10, 11, 12, 13 }, 14), { 4, 13, 14 })
  t:equal(joined({ 12, 13 }, { 13, 14 }, 14), { 2, 13, 14 })
  t:equal(joined({ 20 }, { 10, 11, 12, 13 }, 20), { 1, 20, 21 })
  t:equal(joined({}, { 13, 14 }, 14), { 2, 14, 15 })
  t:equal(joined({ 13 }, {}, 14), { 1, 13, 14 })
  t:equal(joined({ 12 }, { 12, 13 }, 13, { zone = "Asia/Tokyo" }), { 2, 13, 14 })
  local kept = after(DAILY, { 13 })
  streak.pause(kept, 14)
  streak.join(kept, DAILY, 16 * 86400, after(DAILY, { 14, 15, 16 }))
  t:equal({ kept.streak, kept.paused, streak.current(kept, DAILY, 90) }, { 3, 1, 3 })
  local off = after(DAILY, { 10, 11 })
  streak.pause(off, 12)
  kept = { before = {}, recent = array {} }
  streak.join(kept, DAILY, 16 * 86400, off)
  t:equal(kept.before, { streak = 2, counted = 11, due = 16, freezes = 1 })
end)
