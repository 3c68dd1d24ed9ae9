-- Milestones by flirts revealed, once each. Their rewards are not multiplied.
local player = require "player"
local wallet = require "wallet"

local milestones = {}

-- Pays the rewards of milestones that were reached and returns these milestones, or nil.
function milestones.reach(state)
  local reached
  for _, milestone in ipairs(settings.milestones) do
    if state.revealed < milestone.at then break end
    if not (state.milestones and state.milestones[milestone.type]) then
      state.milestones = state.milestones or {}
      state.milestones[milestone.type] = true
      wallet.add(state, "milestone:" .. milestone.type, milestone.reward, 1)
      reached = reached or {}
      reached[#reached + 1] = milestone
    end
  end
  return reached
end

function milestones.tell(state, reached, today)
  local list = array {}
  for i, milestone in ipairs(reached) do
    list[i] = { type = milestone.type, reward = milestone.reward }
    raise("gamification_milestone_achieved", {
      milestone_type = milestone.type, flirts_revealed_count = milestone.at, reward_points = milestone.reward,
      days_since_install = player.days_since_install(state, today),
    })
  end
  decide("milestones", list)
end

-- The milestones that the user has reached, in order, and the next one.
function milestones.standing(state)
  local behind, ahead = array {}, json.null
  for _, milestone in ipairs(settings.milestones) do
    if state.milestones and state.milestones[milestone.type] then
      behind[#behind + 1] = { type = milestone.type, reward = milestone.reward }
    elseif ahead == json.null then
      local revealed = state.revealed or 0
      ahead = { type = milestone.type, at = milestone.at, remaining = math.max(0, milestone.at - revealed) }
    end
  end
  return behind, ahead
end

return milestones
