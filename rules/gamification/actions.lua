-- Actions of a user and their rewards: the streak first, then points times the streak's multiplier, milestones and
-- tiers. The settings say which events are actions.
local catalogue = require "catalogue"
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"
local telling = require "telling"
local tiers = require "tiers"
local wallet = require "wallet"

local actions = {}

local MULTIPLIERS, POINTS, ACTIONS = settings.multipliers, settings.points, catalogue.actions
local STREAK, WALLET, today_of = player.streak, player.points, player.today
local pick, times_of, touch, current = fields.pick, points.times, streak.touch, streak.current
local earn, update, check = points.earn, standings.update, tiers.check
local keep_name = tiers.keep_name
local is_repeat = catalogue.is_repeat
local tointeger = math.tointeger

local AWARDED, STREAK_UPDATED = telling "points_awarded", telling "streak_updated"
local ACHIEVED = telling "milestone_achieved"

local function tell_streak(state, change, previous, multiplier)
  decide("streak", { previous = previous, current = state.streak, change = change })
  raise(STREAK_UPDATED, {
    previous_streak = previous, new_streak = state.streak, change_type = change,
    multiplier_before = times_of(MULTIPLIERS, "streak", previous) + 0.0, multiplier_after = multiplier + 0.0,
  })
end

local function tell_points(state, name, earned, multiplier, why)
  local total = state.points
  decide("points", { action = name, earned = earned, multiplier = multiplier, total = total, reason = why })
  if earned == 0 then return end
  raise(AWARDED, {
    action = name, points_earned = (earned / multiplier + 0.5) // 1 | 0, multiplier = multiplier + 0.0,
    total_points_after = total,
  })
end

local function tell_milestones(state, reached, today)
  local list = array {}
  for i, milestone in ipairs(reached) do
    list[i] = { type = milestone.type, reward = milestone.reward }
    raise(ACHIEVED, {
      milestone_type = milestone.type, flirts_revealed_count = milestone.at, reward_points = milestone.reward,
      days_since_install = player.days_since_install(state, today),
    })
  end
  decide("milestones", list)
end

local function pay(state, action, data, at, multiplier, today)
  if action.unique and is_repeat(state, action, data) then return 0, "repeat" end
  local n = action.each and tointeger(data[action.each]) or 1
  return earn(state, WALLET, at, action.earns, n * POINTS[action.earns], multiplier, today)
end

-- The days of the streak after the action, and how it changed.
local function extend(state, action, today)
  if action.streak == false then return current(state, STREAK, today) end
  local change, previous = touch(state, STREAK, today)
  return state.streak, change, previous
end

local function award(state, action, data, at, today)
  local days, change, previous = extend(state, action, today)
  local multiplier = times_of(MULTIPLIERS, "streak", days)
  local earned, why = pay(state, action, data, at, multiplier, today)
  update(state, at, action.earns, earned)
  local counts, reached = action.counts and why ~= "repeat", nil
  if counts then
    state.revealed = state.revealed + 1
    reached = wallet.milestones(state)
  end
  tell_points(state, action.earns, earned, multiplier, why)
  if change then tell_streak(state, change, previous, multiplier) end
  if reached then tell_milestones(state, reached, today) end
  if change or counts then check(state, today, days) end
end

function actions.perform(event, state)
  local action, data = ACTIONS[event.type], payload(event)
  local wrong = action.nonsense(data)
  if wrong then return decide("error", "invalid_" .. wrong) end
  local at = now()
  local today = today_of(state, at)
  if not state.points then player.wake(state, today) end
  if action.renews then state.round = (state.round or 0) + 1 end
  if action.tells and (action.when_off or not state.off) then
    raise(action.tells, keep_name(pick(data, action.with), action.tier))
  end
  if state.off then return end
  if action.daily then
    if state.login and today <= state.login then return end
    state.login = today
  end
  award(state, action, data, at, today)
end

return actions
