-- What users may ask about themselves: profile, history, and all of it as one export.
local milestones = require "milestones"
local player = require "player"
local streak = require "streak"
local wallet = require "wallet"

local profile = {}

function profile.of(state)
  local days = streak.current(state, player.today(state))
  local behind, ahead = milestones.standing(state)
  return {
    points = state.points or 0, streak = days, multiplier = streak.multiplier(days),
    freezes = state.freezes or settings.freezes.at_start, tier = state.tier or "bronze", revealed = state.revealed or 0,
    milestones = behind, next_milestone = ahead,
  }
end

-- The newest `limit` changes of points; all of them if `limit` is not a count.
function profile.history(state, limit)
  local count = type(limit) == "number" and math.tointeger(limit) or settings.history
  return wallet.history(state, math.max(0, count))
end

function profile.export(state)
  return {
    profile = profile.of(state), history = profile.history(state),
    settings = { enabled = not state.off, time_zone = player.zone(state) },
  }
end

return profile
