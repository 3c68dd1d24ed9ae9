-- A player's record: initial values, the player's current civil day, days since install.
local player = {}

function player.zone(state) return state.zone or settings.time_zone end

function player.today(state) return calendar.day(now(), state.zone or settings.time_zone) end

-- The first handled event creates the record; its day counts as the day of the install.
function player.wake(state, today)
  if state.points then return end
  state.points, state.revealed, state.streak = 0, 0, 0
  state.freezes = settings.freezes.at_start
  state.installed = today or player.today(state)
end

-- Never negative, although a move west may lead to the day before the install.
function player.days_since_install(state, today)
  return math.max(0, (today or player.today(state)) - state.installed)
end

return player
