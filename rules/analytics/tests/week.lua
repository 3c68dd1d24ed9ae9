-- A generated week and a half of many users: the key figures, worked out anew from the list of accepted reports, are
-- compared whole with those that the counters give.

local own = require "own"

local first = 20393                     -- 2025-11-01
local tones = { "playful", "sincere", "witty", "bold", "casual" }
local milestones = { explorer = { 10, 100 }, connoisseur = { 50, 500 }, master = { 100, 1500 } }

local ladders = {
  milestones = {
    property = "milestone_type", steps = { "explorer", "connoisseur", "master" },
    places = { explorer = 1, connoisseur = 2, master = 3 },
  },
  tiers = {
    property = "tier_unlocked", steps = { "silver", "gold", "platinum" },
    places = { silver = 1, gold = 2, platinum = 3 },
  },
}

local function date(day) return calendar.date(day * 86400, "UTC") end

-- The same numbers in every run.
local function dice(seed)
  local at = seed
  return function(n)
    at = (at * 1103515245 + 12345) % 2147483648
    return (at // 65536) % n + 1
  end
end

-- The reports of a user in a session: a name of the plan and its properties.
local function deed(roll)
  local kind, tone = roll(14), tones[roll(5)]
  local failed = { error_code = ({ "timeout", "api_error" })[roll(2)], error_message = "no answer", retry_attempt = 1 }
  if kind == 1 then return "screenshot_upload_initiated", { source = "camera" }
  elseif kind == 2 then return "screenshot_upload_success", { image_size_kb = 90, upload_duration_ms = 100 * roll(40) }
  elseif kind == 3 then return "screenshot_analysis_started", { tone_selected = tone }
  elseif kind == 4 then return "screenshot_analysis_completed", { analysis_duration_ms = 5, tone_selected = tone }
  elseif kind == 5 then return "flirt_generation_started", { tone_selected = tone }
  elseif kind == 6 then
    return "flirt_generation_completed", { generation_duration_ms = 9, tone_selected = tone, flirt_count = 4 - roll(2) }
  elseif kind == 7 then
    return ({ "screenshot_upload_failed", "screenshot_analysis_failed", "flirt_generation_failed" })[roll(3)], failed
  elseif kind == 8 then
    return "gamification_flirt_revealed", { reveal_method = "scroll", scroll_duration_ms = 7, flirt_index = 2 }
  elseif kind == 9 then
    return "gamification_flirt_copied", { flirt_index = roll(3) - 1, tone_used = tone, quality_tier = "gold" }
  elseif kind == 10 then
    return "error_displayed", { error_type = "network_error", error_code = failed.error_code, screen = "home" }
  elseif kind == 11 then
    local which = ({ "explorer", "connoisseur", "master" })[roll(3)]
    return "gamification_milestone_achieved", { milestone_type = which, flirts_revealed_count = milestones[which][1],
      reward_points = milestones[which][2] }
  elseif kind == 12 then
    return "gamification_tier_unlocked", { tier_unlocked = ({ "silver", "gold", "platinum" })[roll(3)],
      unlock_method = "points_spent", flirts_revealed_count = 30, current_streak = 2 }
  elseif kind == 13 then
    if roll(2) == 1 then return "gamification_tutorial_skipped", { step_skipped_on = roll(3) } end
    return "gamification_tutorial_completed", { completion_time_seconds = 60, skipped = roll(3) == 1 }
  end
  return "settings_gamification_toggled", { new_state = roll(2) == 1 and "disabled" or "enabled",
    total_flirts_revealed = 12 }
end

-- Plays the days and notes the accepted reports: {day, user, session, name, properties}; and who was installed when.
local function play(t, users, length)
  local roll, noted, installed, sessions = dice(4711), {}, {}, 0
  local function tell(day, user, kind, name, properties)
    local outcome = t:event("device:" .. user, kind, properties)
    t:equal(outcome.failures, {})
    if outcome.decisions.accepted then
      noted[#noted + 1] = { day = day, user = user, session = sessions, name = name,
        properties = own(outcome)[1].data }
    end
  end
  for day = first, first + length - 1 do
    for user = 1, users do
      t:at(calendar.format(day * 86400.0 + 3600 + user * 3000))
      if roll(10) <= 6 and (installed[user] or roll(3) == 1) then
        if not installed[user] then
          installed[user] = day
          local on = user % 5 ~= 0        -- each fifth user never opts in
          tell(day, user, "settings.analytics_toggled", "settings_analytics_toggled", { enabled = on })
        end
        sessions = sessions + 1
        tell(day, user, "session.started", "session_started", {})
        tell(day, user, "app_opened", "app_opened", { launch_type = roll(9) == 1 and "warm" or "cold_start" })
        local streak = roll(9)
        tell(day, user, "gamification_streak_updated", "gamification_streak_updated", { previous_streak = streak - 1,
          new_streak = streak, change_type = "increment", multiplier_before = 1, multiplier_after = 2 })
        for _ = 1, roll(8) do
          t:advance(roll(200) .. "s")
          local name, properties = deed(roll)
          tell(day, user, name, name, properties)
        end
        if roll(4) > 1 then tell(day, user, "session.ended", "session_ended", {}) end
        if roll(30) == 1 then
          tell(day, user, "settings.analytics_toggled", "settings_analytics_toggled", { enabled = false })
        end
      end
    end
  end
  return noted, installed
end

local function pct(part, whole)
  if whole == 0 then return json.null end
  return math.min(100, math.floor(part / whole * 1000 + 0.5) / 10)
end
local function over(part, whole)
  if whole == 0 then return json.null end
  return part / whole
end
local function size(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

-- Users with a report in these days, for which `which` holds.
local function users_of(noted, from, to, which)
  local set = {}
  for _, one in ipairs(noted) do
    if one.day >= from and one.day <= to and (not which or which(one)) then set[one.user] = true end
  end
  return set
end

-- Users who had reached a step of a ladder, or one above it, by the end of a day.
local function reached(noted, to, steps, property)
  local all = {}
  for i, step in ipairs(steps) do
    all[step] = size(users_of(noted, first, to, function(one)
      for j = i, #steps do
        if one.properties[property] == steps[j] then return true end
      end
      return false
    end))
  end
  return all
end

-- Adds to `sum` how many of a day's users had reached each step of a ladder, or one above it, by the end of that day.
local function add_active(sum, noted, day, ladder)
  local highest = {}
  for _, one in ipairs(noted) do
    local at = one.day <= day and ladder.places[one.properties[ladder.property]] or 0
    highest[one.user] = math.max(highest[one.user] or 0, at)
  end
  for user in pairs(users_of(noted, day, day)) do
    for i = 1, highest[user] do sum[i] = sum[i] + 1 end
  end
end

-- Users active on a day whose last toggle by then was not "disabled".
local function in_game(noted, day)
  local off = {}
  for _, one in ipairs(noted) do
    if one.day <= day and one.name == "settings_gamification_toggled" then
      off[one.user] = one.properties.new_state == "disabled" or nil
    end
  end
  local n = 0
  for user in pairs(users_of(noted, day, day)) do n = n + (off[user] and 0 or 1) end
  return n
end

-- Each user who is active on the day and was told of so long a streak then, or last on the day before.
local function in_streak(noted, day, step)
  local set, last = {}, {}
  for _, one in ipairs(noted) do
    if one.day == day - 1 and one.name == "gamification_streak_updated" then
      last[one.user] = one.properties.new_streak
    end
  end
  local active = users_of(noted, day, day)
  local before_told = users_of(noted, day, day, function(one) return one.name ~= "gamification_streak_updated" end)
  for user in pairs(active) do
    if before_told[user] and (last[user] or 0) >= step then set[user] = true end
  end
  for user in pairs(users_of(noted, day, day, function(one)
    return one.name == "gamification_streak_updated" and one.properties.new_streak >= step
  end)) do set[user] = true end
  return size(set)
end

local function expected(noted, installed, from, to, today)
  local days = to - from + 1
  local function sum(name, property, where)
    local n = 0
    for _, one in ipairs(noted) do
      if one.name == name and one.day >= from and one.day <= to and (not where or where(one.properties)) then
        n = n + (property and one.properties[property] or 1)
      end
    end
    return n
  end
  local function daily(f)
    local n = 0
    for day = from, to do n = n + f(day) end
    return n
  end
  local dau = daily(function(day) return size(users_of(noted, day, day)) end)
  local game = daily(function(day) return in_game(noted, day) end)
  local sessions, ended = sum("session_started"), sum("session_ended")
  local uploaded, upload_failed = sum("screenshot_upload_success"), sum("screenshot_upload_failed")
  local analysed, analysis_failed = sum("screenshot_analysis_completed"), sum("screenshot_analysis_failed")
  local sets, set_failed = sum("flirt_generation_completed"), sum("flirt_generation_failed")
  local requests = sum("screenshot_upload_initiated") + sum("screenshot_analysis_started")
    + sum("flirt_generation_started")
  local streaks, retention, errors, erred = {}, {}, array {}, {}
  for _, step in ipairs { 1, 3, 7 } do
    local users = daily(function(day) return in_streak(noted, day, step) end)
    streaks["day_" .. step] = { users = users / days, pct = pct(users, dau) }
  end
  for _, after in ipairs { 1, 7, 30 } do
    local back, of = 0, 0
    for user in pairs(users_of(noted, first, today)) do
      local day = installed[user]
      if day >= from and day <= to and day + after <= today then
        of = of + 1
        if users_of(noted, day + after, day + after)[user] then back = back + 1 end
      end
    end
    retention["d" .. after] = { users = back, of = of, pct = pct(back, of) }
  end
  for _, code in ipairs { "api_error", "timeout" } do
    local n = sum("error_displayed", nil, function(properties) return properties.error_code == code end)
    if n > 0 then
      errors[#errors + 1] = { type = "network_error", code = code, count = n, pct = pct(n, requests) }
    end
  end
  if #errors == 2 and errors[2].count > errors[1].count then errors[1], errors[2] = errors[2], errors[1] end
  for _, one in ipairs(noted) do
    if one.name == "error_displayed" and one.day >= from and one.day <= to then erred[one.session] = true end
  end
  local steps = {}
  for name, ladder in pairs(ladders) do
    local active = { 0, 0, 0 }
    for day = from, to do add_active(active, noted, day, ladder) end
    steps[name] = reached(noted, to, ladder.steps, ladder.property)
    for i, step in ipairs(ladder.steps) do
      steps[name][step] = { users = steps[name][step], pct = pct(active[i], dau) }
    end
  end
  return {
    dau = dau / days, wau = size(users_of(noted, to - 6, to)), sessions = sessions,
    sessions_per_user = over(sessions, dau),
    mean_session_seconds = over(sum("session_ended", "session_duration_seconds"), ended),
    gamification_enabled = { users = game / days, of = dau / days, pct = pct(game, dau) },
    mean_flirts_revealed = over(sum("gamification_flirt_revealed"), dau),
    streaks = streaks, milestones = steps.milestones, tiers = steps.tiers,
    uploads = { success_pct = pct(uploaded, uploaded + upload_failed),
      mean_ms = over(sum("screenshot_upload_success", "upload_duration_ms"), uploaded) },
    analysis_success_pct = pct(analysed, analysed + analysis_failed),
    generation_success_pct = pct(sets, sets + set_failed),
    copy = { pct = pct(sum("gamification_flirt_copied"), sum("flirt_generation_completed", "flirt_count")),
      per_set = over(sum("gamification_flirt_copied"), sets) },
    retention = retention,
    churn = { data_deleted = sum("settings_data_deleted"), analytics_disabled =
      sum("settings_analytics_toggled", nil, function(properties) return properties.new_state == "disabled" end) },
    errors = errors,
    error_impact = { sessions = size(erred), of = sessions, pct = pct(size(erred), sessions) },
    tutorial = { completed = sum("gamification_tutorial_completed", nil, function(p) return not p.skipped end),
      skipped = sum("gamification_tutorial_skipped") },
  }
end

test "the figures of a generated week are those that its reports add up to" (function(t)
  local length = 11
  local noted, installed = play(t, 18, length)
  t:truthy(#noted > 300)
  local last = first + length - 1
  local kpis = t:query(nil, "kpis", { from = date(first), to = date(last) })
  t:equal(#kpis.days, length)
  for i, figures in ipairs(kpis.days) do
    local day = first + i - 1
    local want = expected(noted, installed, day, day, last)
    want.day = date(day)
    for key, value in pairs(want) do t:equal({ key, figures[key] }, { key, value }) end
    t:equal(figures, want)
  end
  for _, range in ipairs { { first, last }, { first, first + 6 }, { first + 2, first + 8 }, { last, last } } do
    local want = expected(noted, installed, range[1], range[2], last)
    want.from, want.to = date(range[1]), date(range[2])
    local figures = t:query(nil, "kpis", { from = want.from, to = want.to }).range
    for key, value in pairs(want) do t:equal({ key, figures[key] }, { key, value }) end
    t:equal(figures, want)
  end
end)
