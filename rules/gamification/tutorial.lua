-- Reports the tutorial's steps to analytics. Fields that the client leaves out are derived: a step's title, the
-- time since the first step, the step at which the user left. So are steps and titles that the tutorial does not have:
-- they may say anything.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local telling = require "telling"

local plain, TITLES = fields.plain, settings.tutorial
local VIEWED, COMPLETED = telling "tutorial_step_viewed", telling "tutorial_completed"
local SKIPPED = telling "tutorial_skipped"

local function step_of(value)
  if math.type(value) and not TITLES[value] then return nil end
  return plain(value)
end

local function title_of(value)
  if type(value) == "string" and not fields.is_one_of(value, TITLES) then return nil end
  return plain(value)
end

local function viewed(tutorial, data)
  local step = step_of(data.step_number)
  if math.type(step) == "integer" then
    tutorial.step = step
    if step == 1 or not tutorial.since then tutorial.since = now() end
  end
  raise(VIEWED, { step_number = step, step_title = title_of(data.step_title) or TITLES[step] })
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
  raise(SKIPPED, { step_skipped_on = step_of(data.step_skipped_on) or state.tutorial.step })
end
