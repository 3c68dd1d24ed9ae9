-- Points: earned, spent on tiers, and rewarded for milestones by flirts revealed, once each.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"
local tiers = require "tiers"

local wallet = {}

local OPTIONS, earn, spend, update = player.points, points.earn, points.spend, standings.update

-- Rewards are not multiplied.
local function reward(state, milestone)
  local cause, at = "milestone:" .. milestone.type, now()
  update(state, at, cause, earn(state, OPTIONS, at, cause, milestone.reward))
end

-- Pays the rewards of milestones that were reached, and returns these.
function wallet.milestones(state) return points.milestones(state, settings.milestones, state.revealed, reward) end

local function refusal(state, amount, tier)
  if not amount or amount <= 0 then return "invalid_amount" end
  return tier ~= nil and tiers.refusal(state, tier) or state.off and "gamification_off" or nil
end

-- Spends points, on a tier if one is named: the points spent on a tier add up until it is unlocked.
function wallet.spend(event, state)
  local data = payload(event)
  local amount, tier = fields.whole(data.amount), data.tier
  local why, paid = refusal(state, amount, tier), nil
  if not why then paid, why = spend(state, OPTIONS, now(), "spend", amount) end
  if not paid then return decide("error", why) end
  update(state, now(), "spend", -amount)
  if tier then tiers.pay(state, tier, amount) end
  decide("points", { action = "spend", earned = -amount, multiplier = 1, total = state.points })
  local today = player.today(state)
  tiers.check(state, today, streak.current(state, player.streak, today))
end

return wallet
