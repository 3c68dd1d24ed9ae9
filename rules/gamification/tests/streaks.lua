-- Streaks: civil days, freezes, the clocks' changes, moves between zones, days with gamification off.
local function act(t) return t:event("user:1", "flirt.copied", { flirt_index = 0 }).decisions.streak end

local function live_in(t, zone) t:event("user:1", "profile.updated", { time_zone = zone }) end

local function days(t, count)
  for _ = 1, count do act(t) t:advance("1d") end
end

local function shown(t) return t:query("user:1", "profile").streak end

test "a day missed without a freeze starts again at one" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  days(t, 3)
  t:advance("1d")
  t:equal(shown(t), 0)
  t:equal(act(t), { previous = 3, current = 1, change = "reset" })
end)

test "two missed days reset the streak and leave the freezes" (function(t)
  days(t, 2)
  t:advance("2d")
  t:equal(shown(t), 0)
  t:equal(act(t).change, "reset")
  t:equal(t:query("user:1", "profile").freezes, 1)
end)

test "the profile shows a streak that a freeze can still save" (function(t)
  days(t, 3)
  t:advance("1d")
  t:equal(shown(t), 3)
  t:equal(t:query("user:1", "profile").multiplier, 2)
end)

test "each seven days earn a freeze, two at most" (function(t)
  days(t, 7)
  t:equal(t:query("user:1", "profile").freezes, 2)
  days(t, 7)
  t:equal(t:query("user:1", "profile").freezes, 2)
end)

test "a freeze is used before one is earned" (function(t)
  days(t, 13)
  t:advance("1d")
  t:equal(act(t), { previous = 13, current = 14, change = "freeze_used" })
  t:equal(t:query("user:1", "profile").freezes, 2)
end)

test "the multiplier is three from the seventh day" (function(t)
  days(t, 6)
  local points = t:event("user:1", "flirt.copied").decisions.points
  t:equal(points, { action = "copy_flirt", earned = 45, multiplier = 3, total = 2 * 15 + 4 * 30 + 45 })
end)

-- The first moments of three days in a row: a clock change lies on the second.
local changes = {
  { "Pacific/Auckland", "2025-09-27T00:00:00+12:00", "2025-09-28T00:00:00+12:00", "2025-09-29T00:00:00+13:00" },
  { "Pacific/Auckland", "2026-04-04T00:00:00+13:00", "2026-04-05T00:00:00+13:00", "2026-04-06T00:00:00+12:00" },
  { "America/Los_Angeles", "2025-11-01T00:00:00-07:00", "2025-11-02T00:00:00-07:00", "2025-11-03T00:00:00-08:00" },
  { "America/Los_Angeles", "2026-03-07T00:00:00-08:00", "2026-03-08T00:00:00-08:00", "2026-03-09T00:00:00-07:00" },
  { "Asia/Kolkata", "2025-11-01T00:00:00+05:30", "2025-11-02T00:00:00+05:30", "2025-11-03T00:00:00+05:30" },
  { "Europe/Berlin", "2025-10-25T00:00:00+02:00", "2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00" },
  { "Europe/Berlin", "2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00" },
}
for _, change in ipairs(changes) do
  local zone, before, day, after = table.unpack(change)
  test("midnight parts the days in " .. zone .. " around " .. day:sub(1, 10))(function(t)
    t:at("2025-01-01T00:00:00Z")
    live_in(t, zone)
    t:at(before)
    t:equal(act(t), { previous = 0, current = 1, change = "increment" })
    for previous, midnight in ipairs { day, after } do
      t:at(calendar.format(calendar.parse(midnight) - 1))
      t:equal(act(t), nil)
      t:at(midnight)
      t:equal(act(t), { previous = previous, current = previous + 1, change = "increment" })
    end
  end)
end

test "west over the date line: a date once counted is not counted again, and the streak lives" (function(t)
  t:at("2025-11-01T20:00:00+13:00")
  live_in(t, "Pacific/Auckland")
  act(t)
  t:at("2025-11-02T09:00:00+13:00")
  t:equal(act(t).current, 2)
  t:event("user:1", "app.opened")
  live_in(t, "America/Los_Angeles")               -- the first of November again
  t:equal(act(t), nil)
  t:equal(t:event("user:1", "app.opened").decisions, {})
  t:at("2025-11-02T12:00:00-08:00")               -- the second, counted in Auckland
  t:equal(act(t), nil)
  t:equal(shown(t), 2)
  t:at("2025-11-03T12:00:00-08:00")
  t:equal(act(t), { previous = 2, current = 3, change = "increment" })
  t:equal(t:query("user:1", "profile").freezes, 1)
end)

test "east over the date line: the skipped date breaks nothing and costs no freeze" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  t:at("2025-11-10T22:00:00-08:00")
  live_in(t, "America/Los_Angeles")
  act(t)
  t:advance("1h")
  live_in(t, "Pacific/Auckland")                  -- the eleventh, 20:00
  t:at("2025-11-12T21:00:00+13:00")               -- 26 hours later; on the coast it is the next day
  t:equal(act(t), { previous = 1, current = 2, change = "increment" })
  t:at("2025-11-13T21:00:00+13:00")
  t:equal(act(t).current, 3)
end)

test "from Pago Pago to Kiritimati two dates pass in a moment" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  t:at("2025-11-01T23:30:00-11:00")
  live_in(t, "Pacific/Pago_Pago")
  act(t)
  live_in(t, "Pacific/Kiritimati")
  t:equal(shown(t), 1)
  t:equal(act(t), { previous = 1, current = 2, change = "increment" })
end)

test "a day missed before a move is still missed after it" (function(t)
  t:at("2025-11-01T12:00:00Z")
  days(t, 3)
  t:advance("1d")
  live_in(t, "Asia/Kolkata")
  t:equal(act(t), { previous = 3, current = 4, change = "freeze_used" })
end)

test "a streak that ended before a move west stays ended" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  live_in(t, "Pacific/Auckland")
  t:at("2025-11-01T12:00:00+13:00")
  act(t)
  t:at("2025-11-03T01:00:00+13:00")
  t:equal(shown(t), 0)
  live_in(t, "America/Los_Angeles")
  t:equal(shown(t), 0)
  t:equal(act(t).change, "reset")
end)

test "moving back and forth between zones gains no day" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  t:at("2025-11-10T12:00:00Z")
  act(t)
  for _ = 1, 5 do
    live_in(t, "Pacific/Kiritimati")
    live_in(t, "Pacific/Pago_Pago")
  end
  live_in(t, "UTC")
  t:advance("2d")
  t:equal(act(t).change, "reset")
end)

test "days with gamification off neither break nor extend a streak" (function(t)
  days(t, 3)
  t:event("user:1", "settings.gamification_toggled", { enabled = false })
  t:advance("4d")
  t:equal(act(t), nil)
  t:equal(shown(t), 3)
  t:event("user:1", "profile.updated", { time_zone = "Asia/Kolkata" })
  t:event("user:1", "settings.gamification_toggled", { enabled = false })
  t:advance("4d")
  t:event("user:1", "settings.gamification_toggled", { enabled = true })
  t:equal(act(t), { previous = 3, current = 4, change = "increment" })
  t:equal(t:query("user:1", "profile").freezes, 1)
end)

test "switching off and on again within a day gains no day" (function(t)
  t:settings { freezes = { at_start = 0, every_days = 7, most = 2 } }
  days(t, 3)
  t:advance("1d")
  t:event("user:1", "settings.gamification_toggled", { enabled = false })
  t:event("user:1", "settings.gamification_toggled", { enabled = true })
  t:equal(act(t).change, "reset")
end)

test "a move or a pause before the first day carries nothing over" (function(t)
  live_in(t, "Europe/Berlin")
  t:event("user:1", "settings.gamification_toggled", { enabled = false })
  t:event("user:1", "settings.gamification_toggled", { enabled = true })
  t:equal(act(t), { previous = 0, current = 1, change = "increment" })
end)

test "a zone that does not exist changes nothing" (function(t)
  for _, zone in ipairs { "Mars/Olympus", "", 5, true } do
    t:equal(t:event("user:1", "profile.updated", { time_zone = zone }).decisions, { error = "invalid_zone" })
  end
  t:equal(t:state("user:1"), {})
  t:equal(t:event("user:1", "profile.updated", { name = "Ann" }).decisions, {})
end)
