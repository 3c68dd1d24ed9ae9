-- The user's days with the app, in the user's own time zone. Only dates are stored, no times of day.

local days = {}

local names = { "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday" }

-- A zone that the host's data no longer have is as good as none.
local function zone(state) return calendar.known(state.zone or "") and state.zone or "UTC" end

function days.today(state) return calendar.day(now(), zone(state)) end

--- A user's first event is the install: its date in the user's zone, and its date in UTC for retention.
function days.first_seen(state)
  if state.installed then return end
  state.installed = days.today(state)
  state.cohort = calendar.day(now(), "UTC")
end

function days.since_install(state)
  return state.installed and math.max(0, days.today(state) - state.installed)
end

--- 0 on the first opening and on the same day, 1 on the next.
function days.since_last_open(state)
  return math.max(0, days.today(state) - (state.opened or days.today(state)))
end

function days.opened(state) state.opened = days.today(state) end

--- Changes the time zone, if it exists. Stored dates move along, so that a move does not count as a day.
function days.move(state, to)
  if type(to) ~= "string" or not calendar.known(to) then return end
  local shift = calendar.day(now(), to) - days.today(state)
  state.installed = state.installed and state.installed + shift
  state.opened = state.opened and state.opened + shift
  state.zone = to
end

function days.part_of_day(state)
  local hour = calendar.hour(now(), zone(state))
  local parts = settings.parts_of_day
  local part = parts[#parts].name
  for _, one in ipairs(parts) do
    if hour >= one.from then part = one.name end
  end
  return part
end

function days.weekday(state)
  return names[(days.today(state) + 3) % 7 + 1]   -- day 0, 1970-01-01, was a Thursday
end

return days
