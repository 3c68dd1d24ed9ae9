-- Settings that are given in part, in another order, or wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { keep = "1.5d" } end, "'keep' .*its numbers are whole ones")
  t:fails(function() t:settings { keep = "0s" } end, "'keep' .*at least 1 seconds")
  t:fails(function() t:settings { keep = "40000d" } end, "'keep' .*at most 3155760000 seconds")
  t:fails(function() t:settings { freezes = { every_days = 0 } } end, "'freezes.every_days' .*at least 1, not 0")
  t:fails(function() t:settings { history = 2001 } end, "'history' .*at most 2000")
  t:fails(function() t:settings { time_zone = "Europe/Berln" } end, "'time_zone' .*must be the name of a time zone")
  t:fails(function() t:settings { ranges = { rating = { highest = 0 } } } end, "'ranges.rating' .*lowest is greater")
  t:fails(function() t:settings { caps = { copy_flrt = 2 } } end, "'caps' .*points.copy_flrt is missing")
  t:fails(function() t:settings { points = { copy_flirt = 1 << 53 } } end, "'points.copy_flirt' .*at most 1000000")
  t:fails(function() t:settings { cap = 1 << 53 } end, "'cap' .*at most 100000")
  t:fails(function() t:settings { multipliers = { { streak = 1, times = 1e9 } } } end, "times' .*at most 100")
  local unknown = { { on = "order.paid", earns = "order" } }
  t:fails(function() t:settings { actions = unknown } end, "'actions' .*points.order is missing")
  for _, on in ipairs { "book.*", "*", "" } do
    local wrong = { { on = on, earns = "copy_flirt" } }
    t:fails(function() t:settings { actions = wrong } end, "'actions%[1%].on' .*is no type of event")
  end
  for _, tells in ipairs { "Bad Name!", "Copied", "" } do
    local wrong = { { on = "a.b", earns = "copy_flirt", tells = tells } }
    t:fails(function() t:settings { actions = wrong } end, "'actions' .*is no name of a report")
  end
  for _, earns in ipairs { "moved", "spend" } do
    local own = { actions = { { on = "a.b", earns = earns } }, points = { [earns] = 5 } }
    t:fails(function() t:settings(own) end, "'actions' .*a cause of the game's own")
  end
  local same = { { on = "a.b", earns = "copy_flirt" }, { on = "a.b", earns = "rate_flirt" } }
  t:fails(function() t:settings { actions = same } end, "'actions' .*two have the on \"a.b\"")
  local twice = { { type = "a", at = 1, reward = 1 }, { type = "a", at = 2, reward = 1 } }
  t:fails(function() t:settings { milestones = twice } end, "'milestones' .*two have the type \"a\"")
  local steps = { { streak = 5, times = 2 }, { streak = 1, times = 1 }, { streak = 1, times = 3 } }
  t:fails(function() t:settings { multipliers = steps } end, "'multipliers' .*two have the streak 1")
  t:fails(function() t:settings { standings = { bands = { 5, 1, 1 } } } end, "'standings.bands' .*two are 1")
  t:fails(function() t:settings { standings = { bands = { 0, 9 } } } end, "'standings.bands%[1%]' .*at least 1, not 0")
  t:fails(function() t:settings { milestones = { { type = "a", at = 0, reward = 1 } } } end, "%[1%].at' .*at least 1")
  t:fails(function() t:settings { multipliers = { { streak = -3, times = 2 } } } end, "%[1%].streak' .*at least 1")
  t:fails(function() t:settings { multipliers = { { streak = 0, times = 2 } } } end, "%[1%].streak' .*at least 1")
  local equal = { { type = "a", at = 5, reward = 1 }, { type = "b", at = 5, reward = 1 } }
  t:fails(function() t:settings { milestones = equal } end, "'milestones' .*two have the at 5")
  for _, measure in ipairs { "revealed", "streak", "spent" } do
    local tier = { name = "a", [measure] = -1 }
    t:fails(function() t:settings { tiers = { tier } } end, "'tiers%[1%]." .. measure .. "' .*at least 1, not %-1")
  end
  t:fails(function() t:settings { first_tier = "gold" } end, "'first_tier' .*it is one of tiers")
end)

test "points of an action that nothing does, and ranges of no action's data, are unknown" (function(t)
  t:fails(function() t:settings { points = { scrol_reveal = 1 } } end, "'points.scrol_reveal'.* mean 'scroll_reveal'")
  t:fails(function() t:settings { ranges = { ratin = { lowest = 1 } } } end, "'ranges.ratin'; did you mean 'rating'")
  local shop = { { on = "order.paid", earns = "order", needs = { "books" } } }
  t:settings { actions = shop, points = { order = 3 }, caps = { order = 1 }, ranges = { books = { lowest = 1 } } }
  t:fails(function() t:settings { actions = { 3 }, points = { order = 3 } } end, "'actions%[1%]' .*must be an object")
end)

test "one action's points can be set, and the others stay" (function(t)
  t:settings { points = { scroll_reveal = 12 } }
  t:equal(t:event("user:1", "flirt.revealed", { flirt_index = 0 }).decisions.points.earned, 12)
  t:equal(t:event("user:1", "flirt.copied").decisions.points.earned, 15)
end)

test "each tier needs more than those below it" (function(t)
  local function refused(tiers, why) t:fails(function() t:settings { tiers = tiers } end, "'tiers' .*" .. why) end
  refused({ { name = "a" } }, "a needs no more than the lower ones")
  refused({ { name = "a", streak = 3 }, { name = "b", streak = 3 } }, "b needs no more than the lower ones")
  local crossed = { { name = "a", revealed = 9, streak = 2 }, { name = "b", revealed = 5, streak = 3 } }
  refused(crossed, "a needs less streak than a lower one")
  refused({ { name = "a", streak = 3 }, { name = "a", streak = 4 } }, "two have the name \"a\"")
  t:settings { tiers = { { name = "a", streak = 9 }, { name = "b", streak = 9, spent = 9 } } }
end)

test "tiers may be set in any order" (function(t)
  t:settings { tiers = { { name = "gold", streak = 4 }, { name = "silver", streak = 2 } } }
  local function reveal() return t:event("user:1", "flirt.revealed", { flirt_index = 0 }).decisions.tiers end
  local reached = {}
  for day = 1, 4 do
    reached[day] = reveal() or "none"
    t:advance "1d"
  end
  t:equal(reached, { "none", { "silver" }, "none", { "gold" } })
  t:settings { tiers = { { name = "gold", streak = 4 }, { name = "silver", revealed = 9, streak = 2 } } }
  t:equal(t:query("user:1", "totals").tiers, { gold = 1, silver = 1 })
  t:settings { tiers = { { name = "gold", spent = 10 }, { name = "silver", spent = 5 } } }
  t:event("user:2", "flirt.revealed", { flirt_index = 0 })
  t:equal(t:event("user:2", "points.spent", { amount = 5, tier = "silver" }).decisions.tiers, { "silver" })
end)

test "milestones and multipliers may be set in any order" (function(t)
  t:settings {
    multipliers = { { streak = 1, times = 2 }, { streak = 2, times = 5 } },
    milestones  = { { type = "second", at = 2, reward = 10 }, { type = "first", at = 1, reward = 5 } },
  }
  local function reveal() return t:event("user:1", "flirt.revealed", { flirt_index = 0 }).decisions end
  t:equal(reveal().milestones, { { type = "first", reward = 5 } })
  t:advance("1d")
  t:equal(reveal().points.multiplier, 5)
end)
