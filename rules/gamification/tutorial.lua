-- Reports the tutorial's steps to analytics. Fields that the client leaves out are derived: a step's title, the
-- time since the first step, the step at which the user left.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local telling = require "telling"

local plain = fields.plain
local VIEWED, COMPLETED = telling "tutorial_step_viewed", telling "tutorial_completed"
local SKIPPED = telling "tutorial_skipped"

local function viewed(tutorial, data)
  local step = plain(data.step_number)
  if math.type(step) == "integer" then
    tutorial.step = step
    tutorial.since = tutorial.since or now()
  end
  local title = plain(data.step_title) or settings.tutorial[step]
  raise(VIEWED, { step_number = step, step_title = title })
end

local function completed(tutorial, data)
  local seconds = plain(data.completion_time_seconds) or math.floor(now() - (tutorial.since or now()))
  local skipped = data.skipped ~= nil and plain(data.skipped)
  raise(COMPLETED, { completion_time_seconds = seconds, skipped = skipped })
end

return function(event, state)
  local data = payload(event)
  player.wake(state)
  state.tutorial = state.tutorial or {}
  if event.type == "tutorial.step_viewed" then return viewed(state.tutorial, data) end
  if event.type == "tutorial.completed" then return completed(state.tutorial, data) end
  raise(SKIPPED, { step_skipped_on = plain(data.step_skipped_on) or state.tutorial.step })
end
