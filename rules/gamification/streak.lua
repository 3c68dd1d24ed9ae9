-- The streak: civil days in a row with an activity, in the user's own zone.
-- `counted` is the latest civil date that counted and `due` the date until which the next may come with none missed.
-- They lie one day apart but after a move to the east, where the calendar skips ahead, or a pause.
local streak = {}

function streak.multiplier(days)
  for _, step in ipairs(settings.multipliers) do
    if days >= step.streak then return step.times end
  end
  return 1
end

-- Days left until the streak is due; below zero, the days missed. They stand still while gamification is off.
local function left(state, today) return state.paused or state.due - today end

local function alive(state, days_left) return days_left >= 0 or days_left == -1 and state.freezes > 0 end

-- The streak as a user sees it: none once it can't be continued.
function streak.current(state, today)
  if state.due and alive(state, left(state, today)) then return state.streak end
  return 0
end

-- An activity today. Returns the change and the streak before, or nothing when today's date has counted already.
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

-- The days left are the same before and after a jump of the calendar: what lived lives on, what ended stays ended.
-- A date once counted lies behind in any case: back in the west the next that can count is still in time.
local function carry(state, days_left, today)
  if not state.due then return end
  local due = today + days_left
  if alive(state, days_left) then due = math.max(due, state.counted + 1) end
  state.due = due
end

-- A move to another zone takes the user from one civil date to another.
function streak.move(state, old_today, new_today)
  if state.due and not state.paused then carry(state, state.due - old_today, new_today) end
end

-- Days with gamification off neither break a streak nor feed it.
function streak.pause(state, today)
  if state.due and not state.paused then state.paused = state.due - today end
end

function streak.resume(state, today)
  if state.paused then carry(state, state.paused, today) end
  state.paused = nil
end

return streak
