-- Figures that count each user once. The user's own state holds what was already counted (last active day, streak,
-- steps reached), so the shared counters need no subject.

local board = require "board"
local plan  = require "plan"

local people = {}

-- Ladders, lowest step first; a user who reaches a step has reached those below.
local ladders = {
  gamification_milestone_achieved = {
    property = "milestone_type", steps = plan.events.gamification_milestone_achieved.milestone_type.values,
  },
  gamification_tier_unlocked = {
    property = "tier_unlocked", steps = plan.events.gamification_tier_unlocked.tier_unlocked.values,
  },
}
people.ladders = ladders

-- Active today: counts today, and in the look-back windows of the following days that no earlier day has counted in.
local function count_window(last, today)
  local window = settings.active_window_days
  for day = today, today + window - 1 do
    if not last or day < last or day >= last + window then board.add("wau", day) end
  end
end

local function count_return(cohort, today)
  for _, after in ipairs(settings.retention_days) do
    if today - cohort == after then board.add("retained." .. after, cohort) end
  end
end

local function first_of_day(state, today)
  local last = state.active
  if last == today then return end
  state.active, state.streak_counted = today, 0
  board.add("dau", today)
  count_window(last, today)
  if not last then board.add("installs", state.cohort) end
  count_return(state.cohort, today)
  if state.game_off then board.add("game_off", today) end
end

-- Switching off counts for the day; switching on again undoes it.
local function toggle_game(state, today, off)
  if off == (state.game_off == true) then return end
  state.game_off = off or nil
  board.add(off and "game_off" or "game_on_again", today)
end

-- A streak counts on the day it is reported and on the next; each step once a day.
local function count_streak(state, today)
  local streak = state.streak
  if not streak or streak.day < today - 1 then return end
  for _, step in ipairs(settings.streak_steps) do
    if streak.days >= step and step > state.streak_counted then
      board.add("streak." .. step, today)
      state.streak_counted = step
    end
  end
end

local function climb(state, today, ladder, reached)
  state.reached = state.reached or {}
  for _, step in ipairs(ladder.steps) do
    if not state.reached[step] then
      state.reached[step] = true
      board.add_ever(step, today)
    end
    if step == reached then break end
  end
end

--- Counts the user of an accepted report.
function people.note(state, name, properties)
  local today = calendar.day(now(), "UTC")
  first_of_day(state, today)
  if name == "gamification_streak_updated" then state.streak = { days = properties.new_streak, day = today } end
  if name == "settings_gamification_toggled" then toggle_game(state, today, properties.new_state == "disabled") end
  count_streak(state, today)
  local ladder = ladders[name]
  if ladder then climb(state, today, ladder, properties[ladder.property]) end
end

return people
