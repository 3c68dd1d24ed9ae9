-- The streak: civil days in a row with an activity, in the user's own zone. `counted` is the latest civil date that
-- counted; `due` is the last date on which the next activity continues the streak. `due` is the day after `counted`,
-- except after a move east, which skips a date, or after a pause.
local streak = {}

function streak.multiplier(days)
  local steps = settings.multipliers
  for i = 1, #steps do
    if days >= steps[i].streak then return steps[i].times end
  end
  return 1
end

-- `days_left`: until the streak is due; negative: days missed. The number is frozen while gamification is off.
local function alive(state, days_left) return days_left >= 0 or days_left == -1 and state.freezes > 0 end

-- The streak as the user sees it: 0 once it can't be continued.
function streak.current(state, today)
  if state.due and alive(state, state.paused or state.due - today) then return state.streak end
  return 0
end

-- Records an activity today. Returns the change and the previous streak, or nothing if today has already counted.
function streak.touch(state, today)
  if state.counted and today <= state.counted then return nil end
  local previous, change = state.streak, "increment"
  if state.due and today > state.due then
    change = alive(state, state.due - today) and "freeze_used" or "reset"
  end
  if change == "freeze_used" then state.freezes = state.freezes - 1 end
  state.streak = change == "reset" and 1 or previous + 1
  state.counted, state.due = today, today + 1
  local freezes = settings.freezes
  if state.streak % freezes.every_days == 0 then state.freezes = math.min(freezes.most, state.freezes + 1) end
  return change, previous
end

-- A jump of the calendar does not change the days left: a live streak stays alive, an ended one stays ended.
-- A date never counts twice: after a move west, the next date that can count is still in time.
local function carry(state, days_left, today)
  if not state.due then return end
  local due = today + days_left
  if alive(state, days_left) then due = math.max(due, state.counted + 1) end
  state.due = due
end

-- A move to another time zone changes the user's civil date.
function streak.move(state, old_today, new_today)
  if state.due and not state.paused then carry(state, state.due - old_today, new_today) end
end

-- Days with gamification off neither break nor extend a streak.
function streak.pause(state, today)
  if state.due and not state.paused then state.paused = state.due - today end
end

function streak.resume(state, today)
  if state.paused then carry(state, state.paused, today) end
  state.paused = nil
end

return streak
