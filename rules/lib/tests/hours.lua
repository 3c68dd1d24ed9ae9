-- Quiet hours over midnight, hours of a day, and the days on which the clocks change.

local hours = require "hours"

local function at(text) return calendar.parse(text) end

local NIGHT = { from = "22:00", to = "08:00", zone = "Europe/Berlin" }
local OFFICE = { from = "09:00", to = "17:30", zone = "Europe/Berlin" }

test "hours over midnight begin in the evening and end in the morning" (function(t)
  t:each({
    evening = { "2025-11-10T21:59:59+01:00", false, "2025-11-10T22:00:00+01:00" },
    begin   = { "2025-11-10T22:00:00+01:00", true, "2025-11-11T08:00:00+01:00" },
    night   = { "2025-11-11T03:00:00+01:00", true, "2025-11-11T08:00:00+01:00" },
    over    = { "2025-11-11T08:00:00+01:00", false, "2025-11-11T22:00:00+01:00" },
  }, function(case)
    t:equal({ hours.within(NIGHT, at(case[1])) }, { case[2], at(case[3]) })
  end)
end)

test "hours within a day begin and end on it" (function(t)
  t:each({
    early = { "2025-11-10T08:00:00+01:00", false, "2025-11-10T09:00:00+01:00" },
    begin = { "2025-11-10T09:00:00+01:00", true, "2025-11-10T17:30:00+01:00" },
    over  = { "2025-11-10T17:30:00+01:00", false, "2025-11-11T09:00:00+01:00" },
  }, function(case)
    t:equal({ hours.within(OFFICE, at(case[1])) }, { case[2], at(case[3]) })
  end)
end)

test "hours that end when they begin are none" (function(t)
  local none = { from = "09:00", to = "09:00", zone = "UTC" }
  t:equal({ hours.within(none, 9 * 3600), hours.within(none, 20 * 3600) }, { false, false, 33 * 3600 })
end)

test "hours that the clocks skip are empty" (function(t)
  local skipped = { from = "02:15", to = "03:00", zone = "Europe/Berlin" } -- 2:15 is 3:15 on that day
  t:equal(hours.within(skipped, at "2026-03-29T03:05:00+02:00"), false)
  t:equal(hours.within(skipped, at "2026-03-28T02:20:00+01:00"), true)
  local day_long = { from = "03:00", to = "02:15", zone = "Europe/Berlin" }
  t:equal(hours.within(day_long, at "2026-03-29T03:05:00+02:00"), true)
  t:equal(hours.within(day_long, at "2026-03-29T01:59:00+01:00"), true)
end)

test "a moment outside of the hours is the moment itself" (function(t)
  t:equal(hours.after(NIGHT, at "2025-11-10T12:00:00+01:00"), at "2025-11-10T12:00:00+01:00")
  t:equal(hours.after(NIGHT, at "2025-11-10T23:00:00+01:00"), at "2025-11-11T08:00:00+01:00")
  t:equal(hours.after(nil, 5), 5)
end)

test "the change that is told is the first one, over the years and the clocks" (function(t)
  t:property(80, function(random)
    return { random:integer(1735689600, 1798761600), random:pick { "Europe/Berlin", "America/New_York", "UTC" } }
  end, function(case)
    local moment, zone = case[1], case[2]
    local span = { from = "22:00", to = "07:00", zone = zone }
    local inside, change = hours.within(span, moment)
    t:truthy(change > moment)
    t:equal(hours.within(span, change - 1), inside)
    t:equal(hours.within(span, change), not inside)
    t:equal(inside, calendar.hour(moment, zone) >= 22 or calendar.hour(moment, zone) < 7)
  end)
end)
