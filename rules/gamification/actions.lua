-- Actions of a user and their rewards: the streak first, then points times the streak's multiplier, milestones and
-- tiers.
local bins = require "bins"
local fields = require "fields"
local milestones = require "milestones"
local payload = require "payload"
local player = require "player"
local streak = require "streak"
local tiers = require "tiers"
local wallet = require "wallet"

local actions = {}

local plain = fields.plain

-- What analytics may learn of the data: never a flirt's content.
local function reveal(data)
  return {
    reveal_method = plain(data.reveal_method), scroll_duration_ms = plain(data.scroll_duration_ms),
    flirt_index = plain(data.flirt_index),
  }
end

local function copy(data)
  return {
    flirt_index = plain(data.flirt_index), tone_used = plain(data.tone_used), quality_tier = plain(data.quality_tier),
  }
end

local function rating(data)
  local properties = copy(data)
  properties.rating = data.rating
  return properties
end

-- `points` names the action; `tells` is the event for analytics, and `with` makes its properties of the data.
-- A reveal is part of the game; copies and ratings are reported with gamification off too.
local ACTIONS = {
  ["flirt.revealed"] = {
    points = "scroll_reveal", reveals = 1, tells = "gamification_flirt_revealed", with = reveal,
  },
  ["flirt.copied"] = { points = "copy_flirt", when_off = true, tells = "gamification_flirt_copied", with = copy },
  ["flirt.rated"] = {
    points = "rate_flirt", rated = true, when_off = true, tells = "gamification_flirt_rated", with = rating,
  },
  ["flirts.generated"] = { points = "generate_flirts" },
  ["app.opened"] = { points = "daily_login", daily = true },
}

local function is_valid(stars)
  local range = settings.rating
  return type(stars) == "number" and math.tointeger(stars) and stars >= range.lowest and stars <= range.highest
end

local function tell_streak(state, change, previous, multiplier)
  decide("streak", { previous = previous, current = state.streak, change = change })
  raise("gamification_streak_updated", {
    previous_streak = previous, new_streak = state.streak, change_type = change,
    multiplier_before = streak.multiplier(previous) + 0.0, multiplier_after = multiplier + 0.0,
  })
end

local function tell_points(state, name, base, multiplier)
  decide("points", { action = name, earned = base * multiplier, multiplier = multiplier, total = state.points })
  raise("gamification_points_awarded", {
    action = name, points_earned = base, multiplier = multiplier + 0.0,
    total_points_after = bins.points(state.points),
  })
end

local function award(state, action, today)
  local change, previous = streak.touch(state, today)
  local multiplier = streak.multiplier(state.streak)
  local base = settings.points[action.points]
  wallet.add(state, action.points, base * multiplier, multiplier)
  local reached
  if action.reveals then
    state.revealed = state.revealed + action.reveals
    reached = milestones.reach(state)
  end
  tell_points(state, action.points, base, multiplier)
  if change then tell_streak(state, change, previous, multiplier) end
  if reached then milestones.tell(state, reached, today) end
  if change or reached or action.reveals then tiers.check(state, today) end
end

function actions.perform(event, state)
  local action, data = ACTIONS[event.type], payload(event)
  if action.rated and not is_valid(data.rating) then return decide("error", "invalid_rating") end
  local today = player.today(state)
  player.wake(state, today)
  if action.tells and (action.when_off or not state.off) then raise(action.tells, action.with(data)) end
  if state.off then return end
  if action.daily then
    if state.login and today <= state.login then return end
    state.login = today
  end
  award(state, action, today)
end

return actions
