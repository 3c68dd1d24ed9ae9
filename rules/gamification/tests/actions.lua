-- Points for actions, ratings, reports to analytics, and the acceptance story.
local function reveal(t, subject)
  return t:event(subject, "flirt.revealed", { flirt_index = 0, scroll_duration_ms = 900, reveal_method = "scroll" })
end

test "each action earns its points" (function(t)
  t:at("2025-11-01T09:00:00Z")
  local points = t:event("user:1", "app.opened", {}).decisions.points
  t:equal(points, { action = "daily_login", earned = 25, multiplier = 1, total = 25 })
  t:equal(reveal(t, "user:1").decisions.points, { action = "scroll_reveal", earned = 10, multiplier = 1, total = 35 })
  local copied = t:event("user:1", "flirt.copied", { flirt_index = 1, tone_used = "witty", quality_tier = "bronze" })
  t:equal(copied.decisions.points, { action = "copy_flirt", earned = 15, multiplier = 1, total = 50 })
  t:equal(copied.decisions.streak, nil)
  local rated = t:event("user:1", "flirt.rated", { rating = 5, flirt_index = 1 })
  t:equal(rated.decisions.points, { action = "rate_flirt", earned = 5, multiplier = 1, total = 55 })
  local made = t:event("user:1", "flirts.generated", { flirt_count = 3 })
  t:equal(made.decisions.points, { action = "generate_flirts", earned = 20, multiplier = 1, total = 75 })
  t:equal(t:query("user:1", "profile").points, 75)
end)

test "only the first opening of a civil day earns" (function(t)
  t:at("2025-11-01T09:00:00Z")
  t:truthy(t:event("user:1", "app.opened").decisions.points)
  t:equal(t:event("user:1", "app.opened").decisions, {})
  t:advance("1d")
  t:equal(t:event("user:1", "app.opened").decisions.points.total, 50)
end)

test "an opening after other activity still counts as the day's login" (function(t)
  reveal(t, "user:1")
  local decisions = t:event("user:1", "app.opened").decisions
  t:equal(decisions.points.earned, 25)
  t:equal(decisions.streak, nil)
end)

test "a rating that is not a whole number of stars changes nothing" (function(t)
  for _, rating in ipairs { 0, 6, 4.5, "5", true } do
    local outcome = t:event("user:1", "flirt.rated", { rating = rating, flirt_index = 0 })
    t:equal(outcome.decisions, { error = "invalid_rating" })
  end
  t:equal(t:event("user:1", "flirt.rated").decisions.error, "invalid_rating")
  t:equal(t:event("user:1", "flirt.rated", "five").decisions.error, "invalid_rating")
  t:equal(t:state("user:1"), {})
  t:equal(t:event("user:1", "flirt.rated", { rating = 1 }).decisions.points.earned, 5)
end)

test "the acceptance story: a streak, its multiplier and a freeze" (function(t)
  t:at("2025-11-01T09:00:00Z")
  local copied = t:event("device:v1", "flirt.copied", { flirt_index = 0 }).decisions
  t:equal(copied.streak, { previous = 0, current = 1, change = "increment" })
  t:advance("1d")
  t:equal(t:event("device:v1", "flirt.rated", { rating = 5 }).decisions.streak.current, 2)
  t:advance("1d")
  local made = t:event("device:v1", "flirts.generated", { flirt_count = 3 }).decisions
  t:equal(made.points, { action = "generate_flirts", earned = 40, multiplier = 2, total = 60 })
  t:advance("2d")
  local rated = t:event("device:v1", "flirt.rated", { rating = 4 }).decisions
  t:equal(rated.streak, { previous = 3, current = 4, change = "freeze_used" })
  local profile = t:query("device:v1", "profile")
  t:equal({ profile.points, profile.streak, profile.multiplier, profile.freezes }, { 70, 4, 2, 0 })
end)

test "figures are settings" (function(t)
  t:settings { points = { copy_flirt = 7 }, multipliers = { { streak = 1, times = 3 } } }
  t:equal(t:event("user:1", "flirt.copied").decisions.points.earned, 21)
  t:settings { multipliers = { { streak = 1, times = 1.5 } } }
  local points = t:event("user:1", "flirt.copied").decisions.points
  t:equal({ points.earned, points.total, math.type(points.total) }, { 11, 32, "integer" })
end)

test "a new user has no points and all milestones ahead" (function(t)
  t:equal(t:query("user:1", "profile"), {
    points = 0, streak = 0, multiplier = 1, freezes = 1, tier = "bronze", revealed = 0, milestones = {},
    next_milestone = { type = "explorer", at = 10, remaining = 10 },
  })
  t:equal(t:query(nil, "profile").points, 0)
  t:equal(t:query(nil, "history"), {})
  t:equal(t:query(nil, "export").settings, { enabled = true, time_zone = "UTC" })
end)

local function copy(t, index)
  return t:event("user:1", "flirt.copied", { flirt_index = index }).decisions
end

test "a copy of the same flirt earns once in a generated set" (function(t)
  t:equal({ copy(t, 0).points.earned, copy(t, 0).points.earned }, { 15, 15 })
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  t:equal(copy(t, 0).points.total, 65)
  t:equal(copy(t, 0.0).points.earned, 0)
  t:equal(copy(t, 0).points, { action = "copy_flirt", earned = 0, multiplier = 1, total = 65, reason = "repeat" })
  t:equal({ copy(t, 1).points.total, copy(t, 0).points.total }, { 80, 80 })
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  t:equal(copy(t, 0).points.total, 115)
  t:equal(#t:query("user:1", "history"), 7)
  t:advance "364d"
  t:equal(copy(t, 0).points.earned, 0)
  t:advance "1d"
  t:equal(copy(t, 0).points.earned, 15)
end)

test "a copy that earns nothing still counts for the streak" (function(t)
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  copy(t, 0)
  t:advance("1d")
  local again = copy(t, 0)
  t:equal({ again.points.earned, again.streak.current }, { 0, 2 })
end)

test "a set that is generated with gamification off is new all the same" (function(t)
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  copy(t, 0)
  t:event("user:1", "settings.gamification_toggled", { enabled = false })
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  t:event("user:1", "settings.gamification_toggled", { enabled = true })
  t:equal(copy(t, 0).points.earned, 15)
end)

test "an action earns so often in a civil day" (function(t)
  t:at("2025-11-01T23:00:00Z")
  t:settings { caps = { copy_flirt = 2 } }
  t:equal({ copy(t, 0).points.total, copy(t, 1).points.total }, { 15, 30 })
  t:equal(copy(t, 2).points, { action = "copy_flirt", earned = 0, multiplier = 1, total = 30, reason = "cap" })
  t:event("user:1", "profile.updated", { time_zone = "Asia/Tokyo" })
  t:event("user:1", "profile.updated", { time_zone = "UTC" })
  t:equal(copy(t, 2).points.earned, 0)
  t:equal(t:event("user:1", "flirt.rated", { rating = 5 }).decisions.points.earned, 5)
  t:advance("1h")
  t:equal(copy(t, 2).points.earned, 15)
  local totals = t:query(nil, "totals").points
  t:equal(totals[1], { day = "2025-11-01", cause = "copy_flirt", points = 30 })
end)

test "by default 150 of each action earn in a day" (function(t)
  t:truthy(settings.cap >= 150)
  t:equal(settings.caps, {})
  for _ = 1, 150 do copy(t, 0) end
  t:equal(copy(t, 0).points, { action = "copy_flirt", earned = 0, multiplier = 1, total = 2250, reason = "cap" })
end)

test "an action of another product has a cap, too" (function(t)
  t:settings { actions = { { on = "book.read", earns = "read" } }, points = { read = 3 } }
  for _ = 1, 150 do t:event("user:1", "book.read", {}) end
  t:equal(t:event("user:1", "book.read", {}).decisions.points,
    { action = "read", earned = 0, multiplier = 1, total = 450, reason = "cap" })
  t:settings { cap = 151 }
  t:equal(t:event("user:1", "book.read", {}).decisions.points.total, 453)
  t:settings { caps = { read = 152 } }
  t:equal(t:event("user:1", "book.read", {}).decisions.points.total, 456)
end)

test "one event counts a million times at most, and a cap bounds it" (function(t)
  t:settings {
    actions = { { on = "order.paid", earns = "order", each = "books" } },
    points = { order = 10 }, caps = { order = 50 },
  }
  local function pay(books) return t:event("user:1", "order.paid", { books = books }).decisions end
  t:equal(pay(49).points.total, 490)
  for _, books in ipairs { math.maxinteger, 9000000000000000000, 1e300, 1000001, 0, -1 } do
    t:equal(pay(books), { error = "invalid_books" })
  end
  t:equal({ pay(1000000).points.total, pay(1).points.total }, { 500, 500 })
  for _, range in ipairs { { lowest = -5 }, { lowest = 0, highest = 1 << 62 } } do
    t:settings { ranges = { books = range } }
    for _, books in ipairs { -1, 0, 1 << 60 } do t:equal(pay(books), { error = "invalid_books" }) end
  end
  t:settings { ranges = { books = { lowest = 1, highest = 100 } } }
  t:equal(pay(101), { error = "invalid_books" })
end)

test "a report may have no members" (function(t)
  t:settings { actions = { { on = "a.b", earns = "copy_flirt", tells = "b" } } }
  local outcome = t:event("user:1", "a.b", { k = 1 })
  t:equal({ outcome.failures, outcome.decisions.points.earned }, { {}, 15 })
end)

test "an action that makes no sense changes nothing" (function(t)
  t:each({
    { "flirt.revealed", { flirt_index = 3 }, "flirt_index" }, { "flirt.revealed", { flirt_index = -1 }, "flirt_index" },
    { "flirt.copied", { flirt_index = "0" }, "flirt_index" }, { "flirt.copied", { flirt_index = 0.5 }, "flirt_index" },
    { "flirt.copied", { flirt_index = {} }, "flirt_index" }, { "flirt.rated", { flirt_index = 0 }, "rating" },
    { "flirt.rated", { rating = 5, flirt_index = 9 }, "flirt_index" },
    { "flirts.generated", { flirt_count = 0 }, "flirt_count" },
    { "flirts.generated", { flirt_count = 4 }, "flirt_count" },
    { "flirt.revealed", { scroll_duration_ms = -1 }, "scroll_duration_ms" },
  }, function(case)
    local outcome = t:event("user:1", case[1], case[2])
    t:equal(outcome.decisions, { error = "invalid_" .. case[3] })
    t:equal({ t:state("user:1"), outcome.effects }, { {}, {} })
  end)
  for _, data in ipairs { { flirt_index = 2 }, { flirt_index = 2.0 }, { scroll_duration_ms = 0 }, {} } do
    t:equal(t:event("user:1", "flirt.revealed", data).decisions.points.earned, 10)
  end
end)

test "another product's actions are settings" (function(t)
  t:settings {
    actions = {
      { on = "review.written", earns = "review", counts = true, needs = { "book", "stars" }, unique = "book" },
      { on = "order.paid", earns = "order", each = "books", streak = false },
      { on = "letter.written", earns = "letter", needs = { "text", "signed" } },
    },
    ranges = { stars = { lowest = 1, highest = 5 } },
    points = { review = 20, order = 50, letter = 0 }, caps = { order = 3 },
    milestones = { { type = "book worm", at = 2, reward = 5 } },
    tiers = { { name = "reader", revealed = 1 }, { name = "regular", streak = 3 }, { name = "patron", spent = 60 } },
    first_tier = "guest",
  }
  local function send(type, data) return t:event("user:1", type, data).decisions end
  t:equal(t:query("user:1", "profile").tier, "guest")
  t:equal(send("flirt.copied", { flirt_index = 0 }), {})
  t:equal(send("review.written", { book = "b1" }), { error = "invalid_stars" })
  t:equal(send("review.written", { stars = 5 }), { error = "invalid_book" })
  t:equal(send("review.written", { book = ("b"):rep(101), stars = 5 }), { error = "invalid_book" })
  t:equal(send("review.written", { book = "b1", stars = 4 }).tiers, { "reader" })
  t:equal(send("review.written", { book = "b1", stars = 5 }).points.reason, "repeat")
  t:equal(send("review.written", { book = 2, stars = 5 }).points.total, 45)
  t:equal(send("letter.written", { text = "", signed = true }), { error = "invalid_text" })
  t:equal(send("letter.written", { text = "Dear" }), { error = "invalid_signed" })
  t:equal(send("letter.written", { text = ("Dear "):rep(100), signed = false }).error, nil)
  t:equal(send("order.paid"), { error = "invalid_books" })
  for _, books in ipairs { 0, 1.5, "2" } do t:equal(send("order.paid", { books = books }).error, "invalid_books") end
  t:equal(send("order.paid", { books = 2.0 }).points, { action = "order", earned = 100, multiplier = 1, total = 145 })
  t:equal(send("order.paid", { books = 2 }).points.reason, "cap")
  t:equal(t:query("user:1", "profile").points, 195)
  t:equal(send("points.spent", { amount = 60, tier = "regular" }), { error = "not_for_points" })
  t:equal(send("points.spent", { amount = 60, tier = "patron" }).tiers, { "regular", "patron" })
  t:equal(t:query("user:1", "history", { limit = 4 })[4].cause, "milestone:book worm")
  t:advance "1d"
  t:equal(send("order.paid", { books = 1 }).streak, nil)
  t:equal(t:query("user:1", "profile").streak, 1)
end)

test "each daily action counts once a day, whatever else does" (function(t)
  t:settings {
    actions = {
      { on = "pages.read", earns = "reading", daily = true }, { on = "audio.heard", earns = "reading", daily = true },
      { on = "shop.visited", earns = "visit" }, { on = "shop.opened", earns = "visit", daily = true },
    },
    points = { reading = 5, visit = 1 },
  }
  local function total(subject)
    for _, type in ipairs { "pages.read", "audio.heard", "shop.opened", "shop.visited" } do
      for _ = 1, 2 do t:event(subject, type, {}) end
    end
    return t:query(subject, "profile").points
  end
  t:at("2025-11-01T09:00:00Z")
  t:equal({ total("user:ada"), total("device:1") }, { 8, 8 })
  t:event("device:1", "user.authenticated", { user = "ada" })
  t:equal({ t:query("user:ada", "profile").points, t:event("user:ada", "audio.heard", {}).decisions }, { 11, {} })
  t:advance "1d"
  t:equal(total("user:ada"), 19)
end)
