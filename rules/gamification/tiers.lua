-- The quality of flirts: bronze for everyone, then what was revealed, kept up or paid for. What is unlocked stays.
-- The state keeps the highest alone, since a higher one brings the lower ones.
local player = require "player"
local streak = require "streak"

local tiers = {}

-- The tier's place on the ladder; none for bronze, which nobody has to climb to.
function tiers.place(name)
  for place, tier in ipairs(settings.tiers) do
    if tier.name == name then return place end
  end
end

local function method(state, tier, days)
  if state.revealed >= tier.revealed then return "flirts_revealed" end
  if days >= tier.streak then return "streak_achieved" end
  if state.spent and (state.spent[tier.name] or 0) >= tier.spent then return "points_spent" end
end

-- Unlocks what has been reached, the lower ones first, each by the way that led to the highest.
function tiers.check(state, today)
  local ladder, held = settings.tiers, tiers.place(state.tier) or 0
  local days = streak.current(state, today)
  for reached = #ladder, held + 1, -1 do
    local how = method(state, ladder[reached], days)
    if how then
      local names = array {}
      for i = held + 1, reached do
        names[#names + 1] = ladder[i].name
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
