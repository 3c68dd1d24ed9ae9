-- The earnings of a device, when somebody signs in on it.
local function sign_in(t, device, user)
  return t:event(device, "user.authenticated", { user = user })
end

local function points_of(t, subject) return t:query(subject, "profile").points end

test "a device's points move to its user, once" (function(t)
  t:event("user:ada", "flirt.copied", {})
  t:event("device:1", "flirt.rated", { rating = 5 })
  for _ = 1, 2 do
    sign_in(t, "device:1", "ada")
    t:equal({ points_of(t, "device:1"), points_of(t, "user:ada"), t:state("device:1") }, { 0, 20, {} })
  end
  t:equal(t:query("user:ada", "history")[1].cause, "moved")
  sign_in(t, "device:1", "bob")
  t:equal(points_of(t, "user:bob"), 0)
end)

test "a user who has not played yet takes over the device's whole record" (function(t)
  for _ = 1, 3 do
    t:event("device:1", "flirt.revealed", { flirt_index = 0 })
    t:advance("1d")
  end
  local before = t:query("device:1", "export")
  sign_in(t, "device:1", "ada")
  t:equal(t:query("user:ada", "export"), before)
  local reveal = t:event("user:ada", "flirt.revealed", { flirt_index = 0 }).decisions
  t:equal({ reveal.streak.current, reveal.points.total }, { 4, 60 })
end)

test "a milestone that the device has reached is rewarded once" (function(t)
  t:event("user:ada", "flirt.revealed", { flirt_index = 0 })
  for _ = 1, 10 do t:event("device:1", "flirt.revealed", { flirt_index = 0 }) end
  sign_in(t, "device:1", "ada")
  local reveal = t:event("user:ada", "flirt.revealed", { flirt_index = 0 }).decisions
  t:equal({ reveal.points.total, reveal.milestones, reveal.tiers }, { 220, nil, nil })
  local profile = t:query("user:ada", "profile")
  t:equal({ profile.revealed, profile.milestones }, { 12, { { type = "explorer", reward = 100 } } })
end)

test "what a device has unlocked, and has spent on it, stays unlocked" (function(t)
  local function tier_of(subject) return t:query(subject, "profile").tier end
  for _ = 1, 140 do t:event("device:1", "flirt.rated", { rating = 3 }) end
  t:event("device:1", "points.spent", { amount = 200, tier = "silver" })
  t:event("device:1", "points.spent", { amount = 400, tier = "gold" })
  t:event("user:ada", "flirt.rated", { rating = 3 })
  sign_in(t, "device:1", "ada")
  t:equal({ tier_of("user:ada"), t:query(nil, "totals").tiers.silver }, { "silver", 1 })
  for _ = 1, 100 do t:event("device:2", "flirt.rated", { rating = 3 }) end
  t:event("device:2", "points.spent", { amount = 500, tier = "gold" })
  t:equal(tier_of("device:2"), "bronze")
  sign_in(t, "device:2", "ada")
  t:event("user:ada", "flirt.rated", { rating = 3 })
  t:event("user:ada", "points.spent", { amount = 100, tier = "gold" })
  t:equal({ tier_of("user:ada"), t:query(nil, "totals").tiers }, { "gold", { silver = 1, gold = 1, platinum = 0 } })
end)

test "a user who only told a zone, saw the tutorial or switched the game off has not played" (function(t)
  t:at("2025-11-01T22:30:00Z")
  for _ = 1, 3 do
    t:event("device:1", "flirt.revealed", { flirt_index = 0 })
    t:advance("1d")
  end
  t:event("user:ada", "profile.updated", { time_zone = "Asia/Tokyo" })
  t:event("user:ada", "tutorial.step_viewed", { step_number = 1 })
  t:event("user:ada", "settings.gamification_toggled", { enabled = false })
  t:equal(t:query(nil, "leaderboard").players, 1)
  sign_in(t, "device:1", "ada")
  local export = t:query("user:ada", "export")
  t:equal({ export.profile.streak, export.profile.tier, #export.history }, { 3, "silver", 3 })
  t:equal(export.settings, { enabled = false, time_zone = "Asia/Tokyo" })
  t:advance("9d")
  t:event("user:ada", "settings.gamification_toggled", { enabled = true })
  local reveal = t:event("user:ada", "flirt.revealed", { flirt_index = 0 }).decisions
  t:equal({ reveal.streak.current, reveal.streak.change }, { 4, "increment" })
  t:event("device:2", "tutorial.step_viewed", { step_number = 1 })
  sign_in(t, "device:2", "bob")
  t:equal({ t:query(nil, "leaderboard").players, t:state("user:bob").tutorial.step }, { 1, 1 })
end)

test "the longer streak goes on, in whatever order the devices sign in" (function(t)
  t:at("2025-11-01T12:00:00Z")
  for day = 1, 5 do
    t:event("device:phone", "flirt.rated", { rating = 3 })
    if day < 5 then t:advance "1d" end
  end
  t:event("device:tablet", "flirt.rated", { rating = 3 })
  for _, device in ipairs { "device:tablet", "device:phone" } do sign_in(t, device, "ada") end
  t:equal(t:query("user:ada", "profile").streak, 5)
  t:event("device:tablet", "flirt.rated", { rating = 3 })
  sign_in(t, "device:tablet", "ada")
  t:advance "1d"
  local streak = t:event("user:ada", "flirt.rated", { rating = 3 }).decisions.streak
  t:equal({ streak.previous, streak.current }, { 5, 6 })
end)

test "what both have revealed together reaches milestones and tiers at the sign-in" (function(t)
  for _, subject in ipairs { "user:ada", "device:1" } do
    for _ = 1, 6 do t:event(subject, "flirt.revealed", { flirt_index = 0 }) end
  end
  sign_in(t, "device:1", "ada")
  local profile = t:query("user:ada", "profile")
  t:equal({ profile.points, profile.tier, #profile.milestones }, { 220, "silver", 1 })
  t:equal(t:query("user:ada", "leaderboard").you.points, 220)
  t:equal(t:event("user:ada", "flirt.revealed", { flirt_index = 0 }).decisions.milestones, nil)
  t:event("user:bob", "flirt.revealed", { flirt_index = 0 })
  t:event("user:bob", "settings.gamification_toggled", { enabled = false })
  for _ = 1, 9 do t:event("device:2", "flirt.revealed", { flirt_index = 0 }) end
  sign_in(t, "device:2", "bob")
  t:equal(points_of(t, "user:bob"), 100)
  t:event("user:bob", "settings.gamification_toggled", { enabled = true })
  t:equal(#t:event("user:bob", "flirt.revealed", { flirt_index = 0 }).decisions.milestones, 1)
end)

test "a milestone that the user has is not paid again with each sign-in" (function(t)
  for round = 1, 3 do
    for _ = 1, 10 do t:event("device:1", "flirt.revealed", { flirt_index = 0 }) end
    sign_in(t, "device:1", "ada")
    t:equal(points_of(t, "user:ada"), 100 + round * 100)
  end
  t:equal(t:query("user:ada", "profile").revealed, 30)
end)

test "the caps of a civil day hold for a user with all devices" (function(t)
  t:at("2025-11-01T09:00:00Z")
  t:settings { caps = { rate_flirt = 4 }, multipliers = { { streak = 1, times = 2 } } }
  local function rate(subject, times)
    local outcome
    for _ = 1, times do outcome = t:event(subject, "flirt.rated", { rating = 3 }) end
    return outcome.decisions.points
  end
  rate("user:ada", 1)
  for round, total in ipairs { 40, 40, 40 } do
    rate("device:" .. round, 5)
    sign_in(t, "device:" .. round, "ada")
    t:equal({ points_of(t, "user:ada"), t:query("user:ada", "leaderboard").you.points }, { total, total })
  end
  t:equal(rate("user:ada", 1).reason, "cap")
  local sum = 0
  for _, day in ipairs(t:query(nil, "totals").points) do sum = sum + day.points end
  t:equal(sum, 40)
  t:advance "1d"
  t:equal(rate("user:ada", 1).total, 50)
  rate("device:1", 3)
  t:advance "1d"
  sign_in(t, "device:1", "ada")
  t:equal({ points_of(t, "user:ada"), rate("user:ada", 1).total }, { 80, 90 })
end)

test "the day's login is paid once, on whatever device" (function(t)
  t:at("2025-11-01T09:00:00Z")
  t:event("user:ada", "flirt.copied", {})
  for _ = 1, 3 do
    t:event("device:1", "app.opened", {})
    sign_in(t, "device:1", "ada")
    t:equal(points_of(t, "user:ada"), 40)
  end
  t:equal(t:event("user:ada", "app.opened", {}).decisions, {})
  t:advance "1d"
  t:equal(t:event("user:ada", "app.opened", {}).decisions.points.total, 65)
end)

test "what is left of a device's points is never negative" (function(t)
  for _, subject in ipairs { "user:ada", "device:1" } do
    for _ = 1, 10 do t:event(subject, "flirt.revealed", { flirt_index = 0 }) end
  end
  t:event("device:1", "points.spent", { amount = 180 })
  sign_in(t, "device:1", "ada")
  t:equal(points_of(t, "user:ada"), 200)
end)

test "after a sign-in the device's things are not new again" (function(t)
  t:settings {
    actions = { { on = "review.written", earns = "review", unique = "book" } }, points = { review = 20 },
  }
  for _ = 1, 2 do
    t:event("device:1", "review.written", { book = "moby-dick" })
    sign_in(t, "device:1", "ada")
    t:equal(points_of(t, "user:ada"), 20)
  end
end)

local function copy(t, subject, index)
  return t:event(subject, "flirt.copied", { flirt_index = index }).decisions.points
end

test "after a sign-in the user knows what was done on the device, and can do the rest" (function(t)
  t:event("user:bob", "flirts.generated", { flirt_count = 3 })
  copy(t, "user:bob", 0)
  for _, user in ipairs { "ada", "bob" } do
    local device = "device:" .. user
    t:event(device, "flirts.generated", { flirt_count = 3 })
    for index = 0, 1 do t:equal(copy(t, device, index).earned, 15) end
    sign_in(t, device, user)
    local after = {}
    for index = 0, 2 do after[index + 1] = copy(t, "user:" .. user, index).earned end
    t:equal(after, { 0, 0, 15 })
    t:event("user:" .. user, "flirts.generated", { flirt_count = 3 })
    t:event(device, "flirt.rated", { rating = 3 })
    sign_in(t, device, user)
    t:equal({ copy(t, "user:" .. user, 0).earned, copy(t, "user:" .. user, 0).reason }, { 15, "repeat" })
  end
end)

test "what is done on a device after a sign-in is known after the next one" (function(t)
  t:event("device:1", "flirts.generated", { flirt_count = 3 })
  sign_in(t, "device:1", "ada")
  t:equal(copy(t, "device:1", 0).earned, 15)
  sign_in(t, "device:1", "ada")
  t:equal({ copy(t, "user:ada", 0).reason, copy(t, "user:ada", 1).earned }, { "repeat", 15 })
end)

test "of many things a device tells the last hundred" (function(t)
  local function review(subject, n)
    return t:event(subject, "review.written", { book = n }).decisions.points.reason
  end
  t:settings {
    actions = { { on = "review.written", earns = "review", unique = "book" } }, points = { review = 20 },
  }
  for n = 1, 101 do review("device:1", n) end
  sign_in(t, "device:1", "ada")
  t:equal({ review("user:ada", 1), review("user:ada", 2), review("user:ada", 101) }, { nil, "repeat", "repeat" })
end)

test "a device that signed in goes on with new sets" (function(t)
  for total = 35, 70, 35 do
    t:event("device:1", "flirts.generated", { flirt_count = 3 })
    for _ = 1, 2 do t:event("device:1", "flirt.copied", { flirt_index = 0 }) end
    sign_in(t, "device:1", "ada")
    t:equal(points_of(t, "user:ada"), total)
  end
end)

test "the leaderboard and the tiers count a player once, and the day's points, too" (function(t)
  t:at("2025-11-01T09:00:00Z")
  for _ = 1, 10 do t:event("device:1", "flirt.revealed", { flirt_index = 0 }) end
  t:event("user:bob", "flirt.copied", {})
  local before = t:query(nil, "totals")
  sign_in(t, "device:1", "ada")
  t:equal(t:query(nil, "totals"), before)
  t:event("device:2", "flirt.copied", {})
  sign_in(t, "device:2", "bob")
  t:equal(t:query(nil, "leaderboard").players, 2)
end)

test "a launch or a return to the foreground moves points, too, if it says who is signed in" (function(t)
  for number, type in ipairs { "app.launched", "app.foregrounded" } do
    local device, user = "device:" .. number, "ada" .. number
    t:event(device, "flirt.copied", {})
    t:event(device, type, { platform = "ios" })
    t:event(device, type, { platform = "ios", user = user, authenticated = false })
    t:event(device, type, { platform = "ios", user = "" })
    t:equal(points_of(t, device), 15)
    t:event(device, type, { platform = "ios", user = user, authenticated = true })
    t:equal(points_of(t, "user:" .. user), 15)
  end
end)

test "only a device's points move, and no client tells of it" (function(t)
  t:event("user:1", "flirt.copied", {})
  sign_in(t, "user:1", "ada")
  sign_in(t, "device:new", "ada")
  t:equal({ points_of(t, "user:1"), t:state("user:ada") }, { 15, {} })
  t:fails(function() t:event("user:ada", plugin.name .. ".moved", { record = { points = 5 } }) end, "rules")
end)

test "what can't be a user is told, and a device's points stay" (function(t)
  for i, user in ipairs { 7.0, 18446744073709551615.0, true, ("u"):rep(252) } do
    local device = "device:" .. i
    t:event(device, "flirt.copied", {})
    for _, type in ipairs(settings.sign_ins) do
      t:equal(t:event(device, type, { platform = "ios", user = user }).decisions.error, "invalid_user")
    end
    t:equal(points_of(t, device), 15)
  end
end)
