-- When somebody signs in on a device, what the device has earned moves to that user. A user who has not played yet
-- takes over the whole record, and with it the streak; one who has gets the points, the flirts revealed and the
-- milestones, whose rewards are among the points.
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local subjects = require "subjects"

local moving = { TYPE = plugin.name .. ".moved" } -- the message to the user

event(moving.TYPE, { from = "rules", record = "object" }, { about = "What a device has earned moves to its user." })

function moving.leave(event, state)
  local data = payload(event)
  local user = data.authenticated ~= false and subjects.user_id(data.user)
  if not user or not state.points or not subjects.is_device(event) then return end
  standings.leave(state)
  send(subjects.of_user(user), moving.TYPE, { record = state })
  forget()
end

local function add(state, record)
  points.earn(state, player.points, now(), "moved", record.points)
  state.revealed = state.revealed + record.revealed
  state.milestones = state.milestones or {}
  for type in pairs(record.milestones or {}) do state.milestones[type] = true end
  decide("points", { action = "moved", earned = record.points, multiplier = 1, total = state.points })
end

function moving.arrive(event, state)
  local record = event.data.record
  if state.points then
    add(state, record)
  else
    for key, value in pairs(record) do state[key] = value end
  end
  standings.place(state)
end

return moving
