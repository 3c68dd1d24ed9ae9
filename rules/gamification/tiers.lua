-- The quality tiers of flirts: bronze for everyone; higher ones by flirts revealed, streak or points spent. A tier
-- stays unlocked. The state stores the highest one only, since it includes the lower ones.
local player = require "player"
local standings = require "standings"
local streak = require "streak"

local tiers = {}

-- The index of a tier in the ladder; nil for bronze, which everyone has, and for any other name.
function tiers.place(name)
  for place, tier in ipairs(settings.tiers) do
    if tier.name == name then return place end
  end
end

-- The highest tier of the ladder above the one at `held` that was reached, and by what; nil for none.
local function highest(ladder, held, state, days)
  local revealed, spent = state.revealed, state.spent
  for place = #ladder, held + 1, -1 do
    local tier = ladder[place]
    if revealed >= tier.revealed then return place, "flirts_revealed" end
    if days >= tier.streak then return place, "streak_achieved" end
    if spent and (spent[tier.name] or 0) >= tier.spent then return place, "points_spent" end
  end
end

-- Unlocks the tiers that were reached, lower ones first, each with the method that reached the highest.
function tiers.check(state, today)
  local ladder, held = settings.tiers, state.tier and tiers.place(state.tier) or 0
  local days = streak.current(state, today)
  local reached, how = highest(ladder, held, state, days)
  if not reached then return end
  local names = array {}
  for i = held + 1, reached do
    names[#names + 1] = ladder[i].name
    standings.note_tier(ladder[i].name)
    raise("gamification_tier_unlocked", {
      tier_unlocked = ladder[i].name, unlock_method = how, flirts_revealed_count = state.revealed,
      current_streak = days, days_since_install = player.days_since_install(state, today),
    })
  end
  state.tier = ladder[reached].name
  decide("tiers", names)
end

return tiers
