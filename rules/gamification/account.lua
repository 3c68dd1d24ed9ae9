-- The user's settings: gamification on or off, time zone, data export, deletion.
local bins = require "bins"
local fields = require "fields"
local player = require "player"
local standings = require "standings"
local streak = require "streak"

local account = {}

-- While gamification is off, nothing is earned or lost, and the streak's clock is paused.
function account.toggle(state, enabled)
  if type(enabled) ~= "boolean" then return decide("error", "invalid_enabled") end
  local today = player.today(state)
  player.wake(state, today)
  if enabled then
    streak.resume(state, today)
    state.off = nil
  else
    streak.pause(state, today)
    state.off = true
  end
  raise("settings_gamification_toggled", {
    new_state = enabled and "enabled" or "disabled",
    days_since_install = player.days_since_install(state, today),
    total_flirts_revealed = bins.flirts(state.revealed),
  })
end

local function day_in(zone)
  if type(zone) ~= "string" or zone == "" then return nil end
  local known, day = pcall(calendar.day, now(), zone)
  return known and day or nil
end

-- A move to another time zone, whose days count from now on.
function account.move(state, zone)
  local there = day_in(zone)
  if not there then return decide("error", "invalid_zone") end
  local here = player.today(state)
  player.wake(state, there)
  streak.move(state, here, there)
  state.zone = zone
end

function account.exported(state, format)
  player.wake(state)
  raise("settings_data_exported", { export_format = fields.plain(format) or "json" })
end

function account.deleted(state)
  player.wake(state)
  raise("settings_data_deleted", {
    days_since_install = player.days_since_install(state), total_points_binned = bins.points(state.points),
  })
  standings.leave(state)
  forget()
end

return account
