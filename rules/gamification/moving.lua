-- When somebody signs in on a device, what the device has earned moves to that user. A user who has not played yet
-- takes over the whole record; one who has gets the points, the flirts revealed, the milestones, the tier, and the
-- streak where it is longer. The day's caps hold for both together, and a milestone is rewarded once.
local actions = require "actions"
local catalogue = require "catalogue"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"
local subjects = require "subjects"
local tiers = require "tiers"
local wallet = require "wallet"

local moving = { TYPE = plugin.name .. ".moved" } -- the message to the user

event(moving.TYPE, {
  from = "rules", record = "object", known = "object?",
}, { about = "The earnings of a device move to its user." })

function moving.leave(event, state)
  if payload(event).authenticated == false or not subjects.is_device(event) then return end
  local user = subjects.user_in(event)
  if not user or not state.points then return end
  standings.leave(state)
  local known, record = catalogue.leave(state), {}
  for key, value in pairs(state) do record[key], state[key] = value, nil end
  state.round = known.round
  send(subjects.of_user(user), moving.TYPE, { record = record, known = known })
end

-- The device's earnings of this day beyond the caps, with its multiplier.
local function over_caps(state, record)
  local times = points.times(settings.multipliers, "streak", record.streak)
  return points.join(state, player.points, record) * times
end

-- Marks the device's milestones. Returns the rewards of those that the user has, too.
local function rewarded_twice(state, record)
  local both, passed, theirs = 0, state.milestones or {}, record.milestones or {}
  for _, milestone in ipairs(settings.milestones) do
    if passed[milestone.type] and theirs[milestone.type] then both = both + milestone.reward end
  end
  for type in pairs(theirs) do passed[type] = true end
  state.milestones = passed
  return both
end

local function add(state, record)
  local at = now()
  local due = math.max(0, record.points - over_caps(state, record) - rewarded_twice(state, record))
  local earned = points.earn(state, player.points, at, "moved", due)
  state.revealed = state.revealed + record.revealed
  for key, day in pairs(record) do
    if key:find "^daily:" then state[key] = math.max(day, state[key] or day) end
  end
  tiers.join(state, record)
  streak.join(state, player.streak, at, record)
  standings.update(state, at, "moved", earned - record.points)
  decide("points", { action = "moved", earned = earned, multiplier = 1, total = state.points })
  if state.off then return end
  local today, reached = player.today(state, at), wallet.milestones(state)
  if reached then actions.tell_milestones(state, reached, today) end
  tiers.check(state, today, streak.current(state, player.streak, today))
end

-- The first event makes a record, also one that tells a time zone or is of the tutorial.
local function has_played(state) return state.band or state.due or (state.points or 0) > 0 end

-- The zone that the user has told, and a game that is off, stay.
local function take_over(state, record)
  local zone = state.zone
  state.zone = nil
  for key, value in pairs(record) do state[key] = value end
  if zone then streak.move(state, player.streak, now(), zone) end
  if state.off then streak.pause(state, player.today(state)) end
  if has_played(state) then standings.place(state) end
end

function moving.arrive(event, state)
  local record, known = event.data.record, event.data.known
  if has_played(state) then add(state, record) else take_over(state, record) end
  if known then catalogue.join(state, known) end
end

return moving
