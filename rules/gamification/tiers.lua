-- The quality tiers of flirts: bronze for everyone; higher ones by flirts revealed, streak or points spent. A tier
-- stays unlocked. The state stores the highest one only, since it includes the lower ones.
local player = require "player"
local points = require "points"
local standings = require "standings"

local tiers = { known = {} } -- the names of those above bronze

local LADDER = settings.tiers
local LEAST = points.least(LADDER, { "revealed", "streak" })

for _, tier in ipairs(LADDER) do tiers.known[tier.name] = true end

local function reached(tier, state, days)
  if state.revealed >= tier.revealed then return "flirts_revealed" end
  if days >= tier.streak then return "streak_achieved" end
  local spent = state.spent
  return spent and (spent[tier.name] or 0) >= tier.spent and "points_spent" or nil
end

-- Unlocks the tiers that were reached, lower ones first, each with the method that reached the highest.
function tiers.check(state, today, days)
  local least = LEAST[state.tier or ""]
  if least and not state.spent and state.revealed < least.revealed and days < least.streak then return end
  local names, how = points.climb(state, LADDER, reached, days)
  if not names then return end
  for _, name in ipairs(names) do
    standings.note_tier(name)
    raise("gamification_tier_unlocked", {
      tier_unlocked = name, unlock_method = how, flirts_revealed_count = state.revealed, current_streak = days,
      days_since_install = player.days_since_install(state, today),
    })
  end
  decide("tiers", names)
end

return tiers
