-- The quality tiers of flirts: bronze for everyone; higher ones by flirts revealed, streak or points spent. A tier
-- stays unlocked. The state stores the highest one only, since it includes the lower ones.
local player = require "player"
local standings = require "standings"
local streak = require "streak"

local tiers = {}

-- The index of a tier; nil for bronze, which everyone has.
function tiers.place(name)
  if not name then return nil end
  for place, tier in ipairs(settings.tiers) do
    if tier.name == name then return place end
  end
end

local function method(state, tier, days)
  if state.revealed >= tier.revealed then return "flirts_revealed" end
  if days >= tier.streak then return "streak_achieved" end
  if state.spent and (state.spent[tier.name] or 0) >= tier.spent then return "points_spent" end
end

-- Unlocks the tiers that were reached, lower ones first, each with the method that reached the highest.
function tiers.check(state, today)
  local ladder, held = settings.tiers, tiers.place(state.tier) or 0
  local days = streak.current(state, today)
  for reached = #ladder, held + 1, -1 do
    local how = method(state, ladder[reached], days)
    if how then
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
      return decide("tiers", names)
    end
  end
end

return tiers
