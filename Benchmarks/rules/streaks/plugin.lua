-- The benchmark's game, as a user of ruled would write it: revealing a flirt earns points by the streak, milestones and
-- tiers. peers/redis.lua and peers/tarantool.lua do the same.
plugin {
  name     = "streaks",
  version  = "1.0.0",
  about    = "Points, a streak over civil days, milestones and tiers: the rule that the benchmarks measure.",
  settings = {
    points      = 10,
    multipliers = { { streak = 7, times = 3 }, { streak = 3, times = 2 } },
    milestones  = {
      { at = 10, name = "explorer", reward = 100 },
      { at = 50, name = "connoisseur", reward = 500 },
      { at = 100, name = "master", reward = 1500 },
    },
    tiers       = {
      { name = "platinum", revealed = 100, streak = 30 },
      { name = "gold", revealed = 50, streak = 7 },
      { name = "silver", revealed = 10, streak = 3 },
    },
  },
}

local function multiplier(streak)
  for _, step in ipairs(settings.multipliers) do
    if streak >= step.streak then return step.times end
  end
  return 1
end

local function tier(state)
  for _, step in ipairs(settings.tiers) do
    if state.revealed >= step.revealed or state.best >= step.streak then return step.name end
  end
  return "bronze"
end

rule "reveal" {
  on  = "flirt.revealed",
  run = function(_, state)
    local today = calendar.day(now(), "UTC")
    if state.day ~= today then
      state.streak = state.day == today - 1 and state.streak + 1 or 1
      state.best = math.max(state.best or 0, state.streak)
      state.day = today
    end
    local times = multiplier(state.streak)
    local earned = settings.points * times
    state.points = (state.points or 0) + earned
    state.revealed = (state.revealed or 0) + 1
    for _, milestone in ipairs(settings.milestones) do
      if state.revealed == milestone.at then
        state.points = state.points + milestone.reward
        decide("milestone", { name = milestone.name, reward = milestone.reward })
      end
    end
    state.tier = tier(state)
    decide("points", { earned = earned, multiplier = times, total = state.points })
    decide("streak", state.streak)
    decide("tier", state.tier)
  end,
}
