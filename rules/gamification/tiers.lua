-- The quality tiers of flirts: the first for everyone; higher ones by flirts revealed, streak or points spent. A tier
-- stays unlocked. The state stores the highest one only, since it includes the lower ones.
local player = require "player"
local points = require "points"
local standings = require "standings"
local telling = require "telling"

local tiers = {}

local UNLOCKED, NEVER = telling "tier_unlocked", math.huge
local LADDER = {}
for i, tier in ipairs(settings.tiers) do
  LADDER[i] = {
    name = tier.name, revealed = tier.revealed or NEVER, streak = tier.streak or NEVER, spent = tier.spent or NEVER,
  }
end
local NAMES = { [settings.first_tier] = true }
for _, tier in ipairs(LADDER) do NAMES[tier.name] = true end
local LEAST = points.least(LADDER, { "revealed", "streak" })

local function reached(tier, state, days)
  if state.revealed >= tier.revealed then return "flirts_revealed" end
  if days >= tier.streak then return "streak_achieved" end
  local spent = state.spent
  return spent and (spent[tier.name] or 0) >= tier.spent and "points_spent" or nil
end

--- Takes a text out of a report's member that is no name of a tier: it may say anything.
function tiers.keep_name(report, member)
  local name = report[member]
  if type(name) == "string" and not NAMES[name] then report[member] = nil end
  return report
end

--- Why points can't be spent on a tier, or nil.
function tiers.refusal(state, name)
  local place, held = points.place(LADDER, name), points.place(LADDER, state.tier)
  if name == settings.first_tier or place and held and place <= held then return "already_held" end
  if not place then return "unknown_tier" end
  if LADDER[place].spent == NEVER then return "not_for_points" end
end

--- Adds points that are spent on a tier.
function tiers.pay(state, name, amount)
  state.spent = state.spent or {}
  state.spent[name] = (state.spent[name] or 0) + amount
end

--- Brings the tier of another record of the player, and the points spent on tiers there.
function tiers.join(state, record)
  local held, theirs = points.place(LADDER, state.tier) or 0, points.place(LADDER, record.tier) or 0
  for place = held + 1, theirs do
    state.tier = LADDER[place].name
    standings.note_tier(state.tier)
  end
  for name, amount in pairs(record.spent or {}) do tiers.pay(state, name, amount) end
end

--- Unlocks the tiers that were reached, lower ones first, each with the method that reached the highest.
function tiers.check(state, today, days)
  local least = LEAST[state.tier or ""]
  if least and not state.spent and state.revealed < least.revealed and days < least.streak then return end
  local names, how = points.climb(state, LADDER, reached, days)
  if not names then return end
  for _, name in ipairs(names) do
    standings.note_tier(name)
    raise(UNLOCKED, {
      tier_unlocked = name, unlock_method = how, flirts_revealed_count = state.revealed, current_streak = days,
      days_since_install = player.days_since_install(state, today),
    })
  end
  decide("tiers", names)
end

return tiers
