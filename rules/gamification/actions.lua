-- Actions of a user and their rewards: the streak first, then points times the streak's multiplier, milestones and
-- tiers.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"
local tiers = require "tiers"
local wallet = require "wallet"

local actions = {}

local MULTIPLIERS, POINTS = settings.multipliers, settings.points
local STREAK, today_of = player.streak, player.today
local pick, times_of, touch = fields.pick, points.times, streak.touch
local earn, update, check = points.earn, standings.update, tiers.check

-- What analytics may learn of the data: never a flirt's content.
local REVEAL = { "reveal_method", "scroll_duration_ms", "flirt_index" }
local COPY = { "flirt_index", "tone_used", "quality_tier" }
local RATING = { "rating", "flirt_index", "tone_used", "quality_tier" }

-- `points` names the action; `tells` is the event for analytics, and `with` are its properties.
-- A reveal is part of the game; copies and ratings are reported with gamification off too.
local ACTIONS = {
  ["flirt.revealed"] = {
    points = "scroll_reveal", reveals = 1, tells = "gamification_flirt_revealed", with = REVEAL,
  },
  ["flirt.copied"] = { points = "copy_flirt", when_off = true, tells = "gamification_flirt_copied", with = COPY },
  ["flirt.rated"] = {
    points = "rate_flirt", rated = true, when_off = true, tells = "gamification_flirt_rated", with = RATING,
  },
  ["flirts.generated"] = { points = "generate_flirts" },
  ["app.opened"] = { points = "daily_login", daily = true },
}

local function is_valid(stars)
  local range = settings.rating
  return stars and stars >= range.lowest and stars <= range.highest
end

local function tell_streak(state, change, previous, multiplier)
  decide("streak", { previous = previous, current = state.streak, change = change })
  raise("gamification_streak_updated", {
    previous_streak = previous, new_streak = state.streak, change_type = change,
    multiplier_before = times_of(MULTIPLIERS, "streak", previous) + 0.0, multiplier_after = multiplier + 0.0,
  })
end

local function tell_points(state, name, base, earned, multiplier)
  decide("points", { action = name, earned = earned, multiplier = multiplier, total = state.points })
  raise("gamification_points_awarded", {
    action = name, points_earned = base, multiplier = multiplier + 0.0, total_points_after = state.points,
  })
end

local function tell_milestones(state, reached, today)
  local list = array {}
  for i, milestone in ipairs(reached) do
    list[i] = { type = milestone.type, reward = milestone.reward }
    raise("gamification_milestone_achieved", {
      milestone_type = milestone.type, flirts_revealed_count = milestone.at, reward_points = milestone.reward,
      days_since_install = player.days_since_install(state, today),
    })
  end
  decide("milestones", list)
end

local function award(state, action, today)
  local change, previous = touch(state, STREAK, today)
  local multiplier = times_of(MULTIPLIERS, "streak", state.streak)
  local at, cause = now(), action.points
  local base = POINTS[cause]
  local earned = earn(state, player.points, at, cause, base, multiplier)
  update(state, at, cause, earned)
  local reached
  if action.reveals then
    state.revealed = state.revealed + action.reveals
    reached = wallet.milestones(state)
  end
  tell_points(state, cause, base, earned, multiplier)
  if change then tell_streak(state, change, previous, multiplier) end
  if reached then tell_milestones(state, reached, today) end
  if change or reached or action.reveals then check(state, today, state.streak) end
end

function actions.perform(event, state)
  local action, data = ACTIONS[event.type], payload(event)
  if action.rated and not is_valid(fields.whole(data.rating)) then return decide("error", "invalid_rating") end
  local today = today_of(state)
  if not state.points then player.wake(state, today) end
  if action.tells and (action.when_off or not state.off) then raise(action.tells, pick(data, action.with)) end
  if state.off then return end
  if action.daily then
    if state.login and today <= state.login then return end
    state.login = today
  end
  award(state, action, today)
end

return actions
