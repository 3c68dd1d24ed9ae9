-- Points: earned, spent, and their history. The history has the latest `settings.history` changes, one line each
-- ("at cause earned multiplier total"), so that its size is bounded.
local player = require "player"
local standings = require "standings"
local tiers = require "tiers"

local wallet = {}

local function write_down(state, cause, earned, multiplier)
  local history = state.history
  if not history then
    history = array {}
    state.history = history
  end
  local seconds = now() // 1 | 0
  history[#history + 1] = seconds .. " " .. cause .. " " .. earned .. " " .. multiplier .. " " .. state.points
  while #history > settings.history do table.remove(history, 1) end
end

-- Adds the points of an action or a milestone; `earned` already includes the multiplier.
function wallet.add(state, cause, earned, multiplier)
  state.points = state.points + earned
  write_down(state, cause, earned, multiplier)
  standings.update(state)
  standings.note_points(cause, earned)
end

local function refusal(state, amount, tier)
  if type(amount) ~= "number" or not math.tointeger(amount) or amount <= 0 then return "invalid_amount" end
  if tier ~= nil and not tiers.place(tier) then return "unknown_tier" end
  if state.off then return "gamification_off" end
  if amount > (state.points or 0) then return "insufficient_points" end
end

-- Spends points, on a tier if one is named: the points spent on a tier add up until it is unlocked.
function wallet.spend(state, amount, tier)
  local why = refusal(state, amount, tier)
  if why then return decide("error", why) end
  amount = math.tointeger(amount)
  wallet.add(state, "spend", -amount, 1)
  if tier then
    state.spent = state.spent or {}
    state.spent[tier] = (state.spent[tier] or 0) + amount
  end
  decide("points", { action = "spend", earned = -amount, multiplier = 1, total = state.points })
  tiers.check(state, player.today(state))
end

-- The history's lines as records, newest first.
function wallet.history(state, limit)
  local lines, records = state.history or {}, array {}
  for i = #lines, math.max(1, #lines - limit + 1), -1 do
    local at, cause, earned, multiplier, total = string.match(lines[i], "^(%S+) (%S+) (%S+) (%S+) (%S+)$")
    records[#records + 1] = {
      at = calendar.format(tonumber(at)), cause = cause, earned = tonumber(earned),
      multiplier = tonumber(multiplier), total = tonumber(total),
    }
  end
  return records
end

return wallet
