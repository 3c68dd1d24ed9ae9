-- Reports the tutorial's three steps to analytics. Fields that the client leaves out are derived: a step's title, the
-- time since the first step, the step at which the user left.
local fields = require "fields"
local player = require "player"

local function seen(state)
  player.wake(state)
  state.tutorial = state.tutorial or {}
  return state.tutorial
end

return {
  ["tutorial.step_viewed"] = function(state, data)
    local tutorial = seen(state)
    local step = fields.plain(data.step_number)
    if math.type(step) == "integer" then
      tutorial.step = step
      tutorial.since = tutorial.since or now()
    end
    raise("gamification_tutorial_step_viewed", {
      step_number = step, step_title = fields.plain(data.step_title) or settings.tutorial[step],
    })
  end,

  ["tutorial.completed"] = function(state, data)
    local tutorial = seen(state)
    raise("gamification_tutorial_completed", {
      completion_time_seconds = fields.plain(data.completion_time_seconds)
        or math.floor(now() - (tutorial.since or now())),
      skipped = data.skipped ~= nil and fields.plain(data.skipped),
    })
  end,

  ["tutorial.skipped"] = function(state, data)
    local tutorial = seen(state)
    raise("gamification_tutorial_skipped", { step_skipped_on = fields.plain(data.step_skipped_on) or tutorial.step })
  end,
}
