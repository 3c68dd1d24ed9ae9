-- The user's settings and requests about themselves: gamification on or off, time zone, export, deletion.
local fields = require "fields"
local payload = require "payload"
local player = require "player"
local points = require "points"
local standings = require "standings"
local streak = require "streak"
local telling = require "telling"

local account = {}

local TOGGLED, EXPORTED, DELETED = telling "toggled", telling "exported", telling "deleted"

-- While gamification is off, nothing is earned or lost, and the streak's clock is paused.
function account.toggle(event, state)
  local enabled = payload(event).enabled
  if type(enabled) ~= "boolean" then return decide("error", "invalid_enabled") end
  local today = player.today(state)
  player.wake(state, today)
  if enabled then streak.resume(state, player.streak, today) else streak.pause(state, today) end
  state.off = not enabled or nil
  raise(TOGGLED, {
    new_state = enabled and "enabled" or "disabled",
    days_since_install = player.days_since_install(state, today),
    total_flirts_revealed = state.revealed,
  })
end

function account.has_zone(event) return payload(event).time_zone ~= nil end

-- A move to another time zone, whose days count from now on.
function account.move(event, state)
  local there = streak.move(state, player.streak, now(), payload(event).time_zone)
  if not there then return decide("error", "invalid_zone") end
  player.wake(state, there)
end

function account.exported(event, state)
  player.wake(state)
  raise(EXPORTED, { export_format = fields.plain(payload(event).export_format) or "json" })
end

-- Nothing is reported: the user did not delete the game's data.
function account.ended(_, state)
  standings.leave(state)
  forget()
end

function account.deleted(_, state)
  player.wake(state)
  raise(DELETED, {
    days_since_install = player.days_since_install(state),
    total_points_binned = state.points,
  })
  account.ended(nil, state)
end

function account.profile(state)
  state = state or {}
  local days = streak.current(state, player.streak, player.today(state))
  local behind, ahead = points.standing(state, settings.milestones, state.revealed or 0)
  return {
    points = state.points or 0, streak = days, multiplier = points.times(settings.multipliers, "streak", days),
    freezes = state.freezes or settings.freezes.at_start,
    tier = state.tier or settings.first_tier, revealed = state.revealed or 0,
    milestones = behind, next_milestone = fields.or_null(ahead),
  }
end

-- The newest `limit` changes of points; all of them if `limit` is not a count.
function account.history(state, args)
  return points.history(state or {}, math.max(0, args and fields.whole(args.limit) or settings.history))
end

function account.export(state)
  state = state or {}
  return {
    profile = account.profile(state), history = account.history(state),
    settings = { enabled = not state.off, time_zone = state.zone or settings.time_zone },
  }
end

return account
