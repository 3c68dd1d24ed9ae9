-- The wallet: earning, spending, expiry, pending points, caps, multipliers, milestones, tiers, history.

local points = require "points"

local DAY = 86400

local function answer(...) return { ... } end

test "what is earned counts so many times, and is spent while it lasts" (function(t)
  local kept = {}
  t:equal(answer(points.earn(kept, {}, 0, "visit", 10)), { 10 })
  t:equal(points.earn(kept, {}, 0, "visit", 10, 3), 30)
  for _, wrong in ipairs { { 5, -1 }, { 0 / 0 }, { "5" }, { 5, 0 / 0 } } do
    t:equal(answer(points.earn(kept, {}, 0, "visit", wrong[1], wrong[2])), { 0, "invalid_amount" })
  end
  t:equal({ points.hold(kept, "x", 5, "visit", 0 / 0), points.hold(kept, "x", 5, "visit", "5") }, { false, false })
  t:equal(points.spend(kept, {}, 0, "mug", 15), true)
  t:equal(answer(points.spend(kept, {}, 0, "mug", 26)), { false, "insufficient_points" })
  t:equal(kept, { points = 25 })
  t:equal(points.spend(kept, {}, 0, "mug", 25), true)
end)

local MOST = 9007199254740991

test "points are whole, and no sum or multiple of them leaves what can be held" (function(t)
  local function total(before, n, times)
    local kept = { points = before }
    local earned, why = points.earn(kept, {}, 0, "x", n, times)
    t:equal({ math.type(earned), math.type(kept.points) }, { "integer", "integer" })
    return { earned, kept.points, why }
  end
  t:equal(total(0, 5, 1.5), { 8, 8 })
  t:equal(total(3, 10, 2.0), { 20, 23 })
  t:equal(total(0, 12.4, 10), { 124, 124 })
  t:equal(total(3, 2.0), { 2, 5 })
  t:equal(total(0, MOST), { MOST, MOST })
  t:equal(total(0, math.maxinteger), { MOST, MOST, "full" })
  t:equal(total(0, math.maxinteger, 3), { MOST, MOST, "full" })
  t:equal(total(0, MOST - 1, 2), { MOST, MOST, "full" })
  t:equal(total(7, MOST, 1), { MOST - 7, MOST, "full" })
  t:equal(total(MOST, 1, 100000), { 0, MOST, "full" })
  t:equal(total(0, math.huge, 2), { MOST, MOST, "full" })
  t:equal(total(5, -3), { 0, 5, "invalid_amount" })
  t:equal(total(1.5, 2), { 2, 4 })
  t:equal({ total(5, 0), total(5, 3, 0) }, { { 0, 5 }, { 0, 5 } })
  t:equal(total(0, 12.4), { 12, 12 })
  t:equal(total(0, math.maxinteger, 2), { MOST, MOST, "full" })
  t:equal(total(-(1 << 62), 0), { 0, -MOST })
  t:equal(total(math.maxinteger, 2), { 0, MOST, "full" })
  local kept = { points = 10 }
  t:equal(points.spend(kept, {}, 0, "mug", 4.0), true)
  t:equal(math.type(kept.points), "integer")
  points.hold(kept, "o1", 1, "order", math.maxinteger)
  points.hold(kept, "o2", 1, "order", 2.5)
  t:equal({ points.settle(kept, {}, 1), kept.points }, { MOST - 6, MOST })
end)

test "nothing and less can't be spent" (function(t)
  for _, n in ipairs { 0, -1 } do
    t:equal(answer(points.spend({ points = 5 }, {}, 0, "mug", n)), { false, "invalid_amount" })
  end
  for _, n in ipairs { 0.5, "3", 0 / 0, 2 ^ 63 } do
    t:equal(answer(points.spend({ points = 5 }, {}, 0, "mug", n)), { false, "invalid_amount" })
  end
  t:equal(answer(points.spend({ points = 5 }, {}, 0, "mug", nil)), { false, "invalid_amount" })
  t:equal(answer(points.spend({}, {}, 0, "mug", 1)), { false, "insufficient_points" })
  t:equal(points.spend({ points = 1 }, {}, 0, "mug", 1), true)
end)

test "a cap holds for a civil day and a cause" (function(t)
  local kept, options = {}, { zone = "Europe/Berlin", caps = { copy = 25 } }
  local evening = calendar.parse "2025-11-10T23:59:00+01:00"
  t:equal(answer(points.earn(kept, options, evening, "copy", 20, 2)), { 40 })
  t:equal(answer(points.earn(kept, options, evening, "copy", 20, 2)), { 10, "cap" })
  t:equal(answer(points.earn(kept, options, evening, "copy", 20)), { 0, "cap" })
  t:equal(answer(points.earn(kept, options, evening, "rate", 20)), { 20 })
  t:equal(answer(points.earn(kept, options, evening + 60, "copy", 20)), { 20 })
  t:equal(kept.points, 90)
  kept.zone = "Pacific/Auckland"
  t:equal(points.earn(kept, options, evening + 13 * 3600, "copy", 25), 25)
  kept.zone = "America/New_York"
  t:equal(answer(points.earn(kept, options, evening + 13 * 3600, "copy", 1)), { 0, "cap" })
  t:equal(points.earn({}, { caps = { copy = 5 } }, 0, "copy", 9), 5)
  t:equal(points.earn({}, { caps = { copy = 0.5 } }, 0, "copy", 1), 1)
end)

test "a cap that is lower than what has counted allows nothing more, and takes nothing" (function(t)
  local kept = { capped_on = 0, ["capped:copy"] = 30 }
  t:equal(answer(points.earn(kept, { caps = { copy = 25 } }, 0, "copy", 5)), { 0, "cap" })
  t:equal(kept, { points = 0, capped_on = 0, ["capped:copy"] = 30 })
end)

test "options are looked at when a record begins" (function(t)
  t:fails(function() points.earn({}, { zone = "nowhere" }, 0, "x", 1) end, "`zone` is a time zone")
  t:equal(points.earn({ points = 1 }, { zone = "nowhere" }, 0, "x", 1), 1)
end)

test "the day's caps hold for what joins" (function(t)
  local options = { caps = { copy = 30, rate = 10 } }
  local function record(day, copied, rated)
    return { capped_on = day, ["capped:copy"] = copied, ["capped:rate"] = rated }
  end
  local kept = record(5, 10)
  t:equal(points.join(kept, options, {}), 0)
  t:equal(points.join(kept, options, record(5, 25, 10)), 5)
  t:equal(points.join(kept, options, record(4, 7)), 7)
  t:equal(kept, record(5, 30, 10))
  t:equal(points.join(kept, options, record(6, 30)), 0)
  t:equal(kept, record(6, 30))
  t:equal(points.join({}, options, record(6, 30, 10)), 0)
end)

local EXPIRING = { expire_days = 30, history = 10 }

test "points expire, the oldest first" (function(t)
  local kept = {}
  points.earn(kept, EXPIRING, 0, "a", 10)
  points.earn(kept, EXPIRING, 5 * DAY, "b", 20)
  t:equal(points.spend(kept, EXPIRING, 6 * DAY, "mug", 4), true)
  t:equal(kept.lots, { { points = 6, till = 30 * DAY }, { points = 20, till = 35 * DAY } })
  t:equal({ points.balance(kept, 30 * DAY - 1), points.balance(kept, 30 * DAY), points.balance(kept, 35 * DAY) },
    { 26, 20, 0 })
  t:equal(answer(points.spend(kept, EXPIRING, 30 * DAY, "mug", 21)), { false, "insufficient_points" })
  t:equal(kept.points, 20)
  local last = points.history(kept, 1)[1]
  t:equal({ last.cause, last.earned, last.multiplier, last.total }, { "expired", -6, 1, 20 })
  t:equal(points.spend(kept, EXPIRING, 31 * DAY, "mug", 20), true)
  t:equal(points.history(kept, 1)[1].multiplier, 1)
  t:equal(kept.lots, array {})
  t:equal(points.balance({}, 0), 0)
end)

test "late points stand among the others, and nothing earned is no lot" (function(t)
  local kept = {}
  points.earn(kept, EXPIRING, 9 * DAY, "a", 1)
  points.earn(kept, EXPIRING, 5 * DAY, "b", 2)
  points.earn(kept, EXPIRING, 9 * DAY, "c", 0)
  points.earn(kept, EXPIRING, 9 * DAY, "d", 3)
  t:equal(kept.lots, {
    { points = 2, till = 35 * DAY }, { points = 1, till = 39 * DAY }, { points = 3, till = 39 * DAY },
  })
  t:equal(points.spend(kept, EXPIRING, 10 * DAY, "mug", 5), true)
  t:equal(kept.lots, { { points = 1, till = 39 * DAY } })
end)

test "of too many lots the two nearest become one, which expires with the later" (function(t)
  local kept = {}
  for i = 1, 500 do points.earn(kept, EXPIRING, i * 60, "x", 1) end
  points.earn(kept, EXPIRING, 250 * 60 + 1, "x", 5)
  t:equal({ #kept.lots, kept.points }, { 500, 505 })
  t:equal(kept.lots[250], { points = 6, till = 250 * 60 + 1 + 30 * DAY })
  t:equal(points.balance(kept, 250 * 60 + 30 * DAY), 256)
  kept = {}
  for i = 1, 501 do points.earn(kept, EXPIRING, i * 60, "x", 1) end
  t:equal({ #kept.lots, kept.lots[1] }, { 500, { points = 2, till = 120 + 30 * DAY } })
end)

test "the balance is what lots and history say, and never negative" (function(t)
  t:property(60, function(random)
    return random:list(40, function(r)
      return { days = r:integer(0, 9), n = r:integer(1, 50), earns = r:boolean() }
    end)
  end, function(steps)
    local kept, at, options = {}, 0, { expire_days = 20, history = 1000 }
    for _, one in ipairs(steps) do
      at = at + one.days * DAY
      local balance = points.balance(kept, at)
      if one.earns then
        points.earn(kept, options, at, "x", one.n)
        t:equal(kept.points, balance + one.n)
      else
        t:equal(points.spend(kept, options, at, "y", one.n), one.n <= balance)
      end
      local sum = 0
      for _, lot in ipairs(kept.lots or {}) do sum = sum + lot.points end
      t:equal(kept.points or 0, sum)
      t:equal(points.balance(kept, at), sum)
      for _, entry in ipairs(points.history(kept, 1000)) do sum = sum - entry.earned end
      t:equal(sum, 0)
    end
  end)
end)

test "pending points are earned when their time has come, unless they are dropped" (function(t)
  local kept = {}
  t:equal(points.hold(kept, "o1", 100, "order", 10), true)
  t:equal(points.hold(kept, "o1", 100, "order", 10), false)
  t:equal(points.hold(kept, "o2", 300, "order", -1), false)
  t:equal({ points.hold(kept, "o0", 1, "order", 0), points.drop(kept, "o0") }, { true, 0 })
  points.hold(kept, "o2", 300, "order", 20)
  points.hold(kept, "o3", 200, "order", 40)
  t:equal(answer(points.settle(kept, {}, 99)), { 0, 100 })
  t:equal(answer(points.settle(kept, {}, 100)), { 10, 200 })
  t:equal(kept.points, 10)
  t:equal(points.drop(kept, "o3"), 40)
  t:equal(points.drop(kept, "o3"), nil)
  t:equal(points.drop({}, "o3"), nil)
  t:equal(answer(points.settle(kept, {}, 1000)), { 20 })
  t:equal({ kept.points, kept.pending }, { 30, {} })
  t:equal(answer(points.settle({}, {}, 1)), { 0 })
end)

test "the highest step that is reached says how many times, in whatever order the steps are" (function(t)
  local down = { { days = 7, times = 3 }, { days = 3, times = 2 } }
  t:each({ { 0, 1 }, { 2, 1 }, { 3, 2 }, { 6, 2 }, { 7, 3 }, { 99, 3 } }, function(case)
    t:equal(points.times(down, "days", case[1]), case[2])
    t:equal(points.times({ down[2], down[1] }, "days", case[1]), case[2])
  end)
  t:equal(points.times({ down[2], { days = 3, times = 9 } }, "days", 3), 2)
end)

local LADDER = { { type = "few", at = 10, reward = 1 }, { type = "some", at = 50, reward = 5 } }

test "a milestone is reached once, and told in order" (function(t)
  local kept, seen = {}, {}
  local function reached(_, one) seen[#seen + 1] = one.type end
  t:equal(points.milestones(kept, LADDER, 9, reached), nil)
  t:equal(points.milestones(kept, LADDER, 10, reached), { LADDER[1] })
  t:equal(points.milestones(kept, LADDER, 11, reached), nil)
  t:equal(points.milestones(kept, LADDER, 50, reached), { LADDER[2] })
  t:equal({ seen, kept.milestones }, { { "few", "some" }, { few = true, some = true } })
  t:equal(points.milestones({}, LADDER, 60, reached), LADDER)
end)

test "the standing says what is behind and what comes next" (function(t)
  t:equal(answer(points.standing({}, LADDER, 4)), { array {}, { type = "few", at = 10, remaining = 6 } })
  local kept = { milestones = { few = true } }
  t:equal(answer(points.standing(kept, LADDER, 60)), {
    { { type = "few", reward = 1 } }, { type = "some", at = 50, remaining = 0 },
  })
  kept.milestones.some = true
  t:equal(answer(points.standing(kept, LADDER, 60)), {
    { { type = "few", reward = 1 }, { type = "some", reward = 5 } },
  })
end)

test "a climb takes the tiers between along, and what is reached stays" (function(t)
  local ladder = { { name = "silver", n = 3 }, { name = "gold", n = 5 }, { name = "platinum", n = 9 } }
  local function reached(tier, kept, n) return n >= tier.n and not kept.closed and "n" or nil end
  local kept = {}
  t:equal(answer(points.climb(kept, ladder, reached, 2)), {})
  t:equal(answer(points.climb(kept, ladder, reached, 6)), { { "silver", "gold" }, "n" })
  t:equal(answer(points.climb(kept, ladder, reached, 6)), {})
  t:equal(answer(points.climb(kept, ladder, reached, 0)), {})
  t:equal(points.climb(kept, ladder, reached, 9), { "platinum" })
  t:equal(points.climb({}, ladder, reached, 4), { "silver" })
  t:equal({ kept.tier, points.climb({ closed = true }, ladder, reached, 9) }, { "platinum" })
  t:equal({ points.place(ladder, "gold"), points.place(ladder, "tin") }, { 2, nil })
end)

test "nothing above a tier is reached with less than the least that it needs" (function(t)
  local ladder = { { name = "silver", n = 3, days = 9 }, { name = "gold", n = 5, days = 2 } }
  t:equal(points.least(ladder, { "n", "days" }), { [""] = { n = 3, days = 2 }, silver = { n = 5, days = 2 } })
  t:equal(points.least({}, { "n" }), {})
end)

test "the history keeps the latest changes" (function(t)
  local kept, options = {}, { history = 2 }
  for n = 1, 3 do points.earn(kept, options, 86400.7 + n, "c" .. n, n, 2) end
  t:equal(points.history(kept, 5), {
    { at = "1970-01-02T00:00:03.000Z", cause = "c3", earned = 6, multiplier = 2, total = 12 },
    { at = "1970-01-02T00:00:02.000Z", cause = "c2", earned = 4, multiplier = 2, total = 6 },
  })
  t:equal(#points.history(kept, 1), 1)
  t:equal(points.history(kept, 0), array {})
  t:equal(points.history({}, 5), array {})
  points.earn(kept, options, 86405, "", 1)
  t:equal(points.history(kept, 1)[1].cause, "")
end)

test "the id of pending points may be a number" (function(t)
  local kept = {}
  t:equal({ points.hold(kept, 7, 50, "order", 5), points.hold(kept, 7.0, 50, "order", 5) }, { true, false })
  t:equal({ kept.pending["7"].points, points.drop(kept, 7), points.drop(kept, 7) }, { 5, 5, nil })
end)
