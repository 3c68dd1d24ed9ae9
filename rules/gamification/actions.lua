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

local NEVER = -math.huge
local MULTIPLIERS, POINTS = settings.multipliers, settings.points
local STREAK, WALLET, today_of = player.streak, player.points, player.today
local pick, times_of, touch, current = fields.pick, points.times, streak.touch, streak.current
local earn, update, check = points.earn, standings.update, tiers.check
local keep_name, wake, milestones = tiers.keep_name, player.wake, wallet.milestones
local is_repeat, renew = catalogue.is_repeat, catalogue.renew
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

--- Tells of milestones that were reached.
function actions.tell_milestones(state, reached, today)
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

-- The actions' functions are made at load, from the settings: a rule reads a local faster than a frozen table.

local function paying(action)
  local earns, each, unique = action.earns, action.each, action.unique
  local worth = POINTS[earns]
  return function(state, event, data, at, multiplier, today)
    if unique and is_repeat(state, event, action, data) then return 0, "repeat" end
    local n = each and tointeger(data[each]) or 1
    return earn(state, WALLET, at, earns, n * worth, multiplier, today)
  end
end

local function awarding(action)
  local earns, pay, extends, is_counted = action.earns, paying(action), action.streak ~= false, action.counts
  return function(state, event, data, at, today)
    local change, previous
    if extends then change, previous = touch(state, STREAK, today) end
    local days = extends and state.streak or current(state, STREAK, today)
    local multiplier = times_of(MULTIPLIERS, "streak", days)
    local earned, why = pay(state, event, data, at, multiplier, today)
    update(state, at, earns, earned)
    local counts, reached = is_counted and why ~= "repeat", nil
    if counts then
      state.revealed = state.revealed + 1
      reached = milestones(state)
    end
    tell_points(state, earns, earned, multiplier, why)
    if change then tell_streak(state, change, previous, multiplier) end
    if reached then actions.tell_milestones(state, reached, today) end
    if change or counts then check(state, today, days) end
  end
end

local function performing(action)
  local nonsense, renews, award = action.nonsense, action.renews, awarding(action)
  local last_day = action.daily and "daily:" .. action.earns
  local tells, with, tier, when_off = action.tells, action.with, action.tier, action.when_off
  return function(state, event, data)
    local wrong = nonsense(data)
    if wrong then return decide("error", "invalid_" .. wrong) end
    local at = now()
    local today = today_of(state, at)
    if not state.points then wake(state, today) end
    if renews then renew(state, event) end
    if tells and (when_off or not state.off) then
      local report = pick(data, with)
      if tier then keep_name(report, tier) end
      raise(tells, report)
    end
    if state.off then return end
    if last_day then
      if today <= (state[last_day] or NEVER) then return end
      state[last_day] = today
    end
    award(state, event, data, at, today)
  end
end

local PERFORM = {}
for name, action in pairs(catalogue.actions) do PERFORM[name] = performing(action) end

function actions.perform(event, state) PERFORM[event.type](state, event, payload(event)) end

return actions
