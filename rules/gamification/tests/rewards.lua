-- Milestones, tiers, spending and the history.
local function reveal(t, count)
  local outcome
  for _ = 1, count do outcome = t:event("user:1", "flirt.revealed", { flirt_index = 0 }) end
  return outcome
end

local function rich(t, points) t:settings { points = { copy_flirt = points } } t:event("user:1", "flirt.copied") end

local function spend(t, amount, tier)
  return t:event("user:1", "points.spent", { amount = amount, tier = tier }).decisions
end

test "the tenth flirt makes an explorer, and silver" (function(t)
  t:equal(reveal(t, 9).decisions.milestones, nil)
  local tenth = reveal(t, 1).decisions
  t:equal(tenth.milestones, { { type = "explorer", reward = 100 } })
  t:equal(tenth.tiers, { "silver" })
  t:equal(tenth.points, { action = "scroll_reveal", earned = 10, multiplier = 1, total = 200 })
  local eleventh = reveal(t, 1).decisions
  t:equal(eleventh.milestones, nil)
  t:equal(eleventh.tiers, nil)
  local profile = t:query("user:1", "profile")
  t:equal(profile.milestones, { { type = "explorer", reward = 100 } })
  t:equal(profile.next_milestone, { type = "connoisseur", at = 50, remaining = 39 })
  t:equal(profile.tier, "silver")
end)

test "all three milestones are reached once each, and the last tier" (function(t)
  t:equal(reveal(t, 50).decisions.tiers, { "gold" })
  local hundredth = reveal(t, 50).decisions
  t:equal(hundredth.milestones, { { type = "master", reward = 1500 } })
  t:equal(hundredth.tiers, { "platinum" })
  t:equal(hundredth.points.total, 100 * 10 + 2100)
  t:equal(t:query("user:1", "profile").next_milestone, json.null)
end)

test "a reward is not multiplied" (function(t)
  t:settings { multipliers = { { streak = 1, times = 3 } } }
  t:equal(reveal(t, 10).decisions.points.total, 400)
end)

test "a streak of three, seven and thirty days unlocks one tier after the other" (function(t)
  local opened = {}
  for day = 1, 30 do
    local tiers = t:event("user:1", "flirt.copied").decisions.tiers
    if tiers then opened[day] = tiers end
    t:advance("1d")
  end
  t:equal(opened, { [3] = { "silver" }, [7] = { "gold" }, [30] = { "platinum" } })
  t:advance("9d")
  t:event("user:1", "flirt.copied")
  t:equal(t:query("user:1", "profile").tier, "platinum")
end)

test "what is spent on a tier adds up, and a higher tier includes the lower ones" (function(t)
  rich(t, 5000)
  t:equal(spend(t, 150, "silver"), { points = { action = "spend", earned = -150, multiplier = 1, total = 4850 } })
  t:equal(spend(t, 40).tiers, nil)
  t:equal(spend(t, 600, "gold").tiers, nil)
  t:equal(spend(t, 400, "gold").tiers, { "silver", "gold" })
  t:equal(spend(t, 3000, "platinum").tiers, { "platinum" })
  t:equal(t:query("user:1", "profile").points, 810)
end)

test "a tier that is held is not bought again, nor one below it" (function(t)
  rich(t, 5000)
  t:equal(spend(t, 1000, "gold").tiers, { "silver", "gold" })
  for _, tier in ipairs { "bronze", "silver", "gold" } do
    t:equal(spend(t, 50, tier), { error = "already_held" })
  end
  t:equal(t:query("user:1", "profile").points, 4000)
  t:equal(spend(t, 50, "platinum").points.total, 3950)
end)

test "points that can't be spent are not spent" (function(t)
  rich(t, 100)
  local before = t:state("user:1")
  for _, amount in ipairs { 0, -5, 1.5, "10", true } do t:equal(spend(t, amount), { error = "invalid_amount" }) end
  t:equal(t:event("user:1", "points.spent").decisions, { error = "invalid_amount" })
  t:equal(spend(t, 101), { error = "insufficient_points" })
  t:equal(spend(t, 10, "diamond"), { error = "unknown_tier" })
  t:equal(t:event("user:2", "points.spent", { amount = 1 }).decisions, { error = "insufficient_points" })
  t:equal(t:state("user:1"), before)
  t:equal(spend(t, 100).points.total, 0)
end)

test "spending does not count for the streak" (function(t)
  rich(t, 100)
  t:advance("1d")
  t:equal(spend(t, 10).streak, nil)
  t:equal(t:event("user:1", "flirt.copied").decisions.streak.current, 2)
end)

test "the history names each change and its cause, newest first" (function(t)
  t:at("2025-11-01T09:00:00Z")
  reveal(t, 10)
  t:advance("1m")
  spend(t, 30)
  local history = t:query("user:1", "history", { limit = 3 })
  t:equal(#history, 3)
  t:truthy(history[1].at:find("^2025%-11%-01T09:01:00"))
  for _, entry in ipairs(history) do entry.at = nil end
  t:equal(history, {
    { cause = "spend", earned = -30, multiplier = 1, total = 170 },
    { cause = "milestone:explorer", earned = 100, multiplier = 1, total = 200 },
    { cause = "scroll_reveal", earned = 10, multiplier = 1, total = 100 },
  })
  t:equal(#t:query("user:1", "history"), 12)
  t:equal(#t:query("user:1", "history", { limit = 0 }), 0)
  t:equal(#t:query("user:1", "history", { limit = "all" }), 12)
end)

test "the history keeps the newest changes only" (function(t)
  t:settings { history = 5 }
  reveal(t, 9)
  local history = t:query("user:1", "history")
  t:equal(#history, 5)
  t:equal({ history[1].total, history[5].total }, { 90, 50 })
end)
