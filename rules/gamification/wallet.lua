-- Points: earned, spent on tiers, and rewarded for milestones by flirts revealed, once each.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local tiers = require "tiers"

local wallet = {}

-- Adds the points of an action or a milestone, so many times. Rewards are not multiplied.
function wallet.add(state, cause, n, times)
  local earned = points.earn(state, player.points, now(), cause, n, times)
  standings.update(state)
  standings.note_points(cause, earned)
end

local function reward(state, milestone) wallet.add(state, "milestone:" .. milestone.type, milestone.reward, 1) end

-- Pays the rewards of milestones that were reached, and returns these.
function wallet.milestones(state) return points.milestones(state, settings.milestones, state.revealed, reward) end

local function refusal(state, amount, tier)
  if not amount or amount <= 0 then return "invalid_amount" end
  if tier ~= nil and not points.place(settings.tiers, tier) then return "unknown_tier" end
  if state.off then return "gamification_off" end
end

-- Spends points, on a tier if one is named: the points spent on a tier add up until it is unlocked.
function wallet.spend(event, state)
  local data = payload(event)
  local amount, tier = fields.whole(data.amount), data.tier
  local why, paid = refusal(state, amount, tier), nil
  if not why then paid, why = points.spend(state, player.points, now(), "spend", amount) end
  if not paid then return decide("error", why) end
  standings.update(state)
  standings.note_points("spend", -amount)
  if tier then
    state.spent = state.spent or {}
    state.spent[tier] = (state.spent[tier] or 0) + amount
  end
  decide("points", { action = "spend", earned = -amount, multiplier = 1, total = state.points })
  tiers.check(state, player.today(state))
end

return wallet
