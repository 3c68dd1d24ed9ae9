-- Points for actions, ratings, what is told to analytics, and the acceptance story.
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
