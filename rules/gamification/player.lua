-- A player's record: what a new one starts with, which civil day it is for them, and when they came.
local player = {}

function player.zone(state) return state.zone or settings.time_zone end

function player.today(state) return calendar.day(now(), player.zone(state)) end

-- The first event that is handled here makes the record; its day counts as the day of the install.
function player.wake(state, today)
  if state.points then return end
  state.points, state.revealed, state.streak = 0, 0, 0
  state.freezes = settings.freezes.at_start
  state.installed = today or player.today(state)
end

-- Never negative: a move to the west may bring back the day before the install.
function player.days_since_install(state, today)
  return math.max(0, (today or player.today(state)) - state.installed)
end

return player
