-- A player's record: how streaks and points are kept, the first values, the civil day.
local freezes = settings.freezes

-- The points that an action may earn in a day. A daily one is done once.
local caps = {}
for _, action in ipairs(settings.actions) do
  local name, once_only = action.earns, action.daily and not action.each and 1
  local most = (settings.caps[name] or once_only or settings.cap) * (settings.points[name] or 0)
  caps[name] = math.max(most, caps[name] or 0)
end

local player = {
  streak = {
    zone = settings.time_zone,
    freezes = { at_start = freezes.at_start, every = freezes.every_days, most = freezes.most },
  },
  points = { history = settings.history, zone = settings.time_zone, caps = caps },
}

local ZONE, day_of = settings.time_zone, calendar.day

function player.today(state, at) return day_of(at or now(), state.zone or ZONE) end

-- The first handled event creates the record; its day counts as the day of the install.
function player.wake(state, today)
  if state.points then return end
  state.points, state.revealed, state.streak = 0, 0, 0
  state.freezes = freezes.at_start
  state.installed = today or player.today(state)
end

-- Never negative, although a move west may lead to the day before the install.
function player.days_since_install(state, today)
  return math.max(0, (today or player.today(state)) - state.installed)
end

return player
