-- The quality tiers of flirts: bronze for everyone; higher ones by flirts revealed, streak or points spent. A tier
-- stays unlocked. The state stores the highest one only, since it includes the lower ones.
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"

local tiers = {}

local function reached(tier, state, days)
  if state.revealed >= tier.revealed then return "flirts_revealed" end
  if days >= tier.streak then return "streak_achieved" end
  local spent = state.spent
  return spent and (spent[tier.name] or 0) >= tier.spent and "points_spent" or nil
end

-- Unlocks the tiers that were reached, lower ones first, each with the method that reached the highest.
function tiers.check(state, today)
  local days = streak.current(state, player.streak, today)
  local names, how = points.climb(state, settings.tiers, reached, days)
  for _, name in ipairs(names or array {}) do
    standings.note_tier(name)
    raise("gamification_tier_unlocked", {
      tier_unlocked = name, unlock_method = how, flirts_revealed_count = state.revealed, current_streak = days,
      days_since_install = player.days_since_install(state, today),
    })
  end
  if names then decide("tiers", names) end
end

return tiers
