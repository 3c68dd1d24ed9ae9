-- The key figures, one by one; tests/week.lua compares all of them over a generated week.

local function opted_in(t, subject, at)
  t:at(at)
  t:event(subject, "settings.analytics_toggled", { enabled = true })
  t:event(subject, "session.started", { session_id = "s" })
end

local function day(t, date) return t:query(nil, "kpis", { from = date, to = date }).range end
local function streak(n)
  return { previous_streak = n - 1, new_streak = n, change_type = "increment", multiplier_before = 1,
    multiplier_after = 1 }
end

test "a day without events has null for figures without a whole" (function(t)
  local none = t:query(nil, "kpis", { from = "2025-11-01", to = "2025-11-01" })
  t:equal(#none.days, 1)
  t:equal(none.days[1].day, "2025-11-01")
  t:equal(none.days[1].dau, 0)
  t:equal(none.days[1].sessions_per_user, json.null)
  t:equal(none.days[1].gamification_enabled, { users = 0, of = 0, pct = json.null })
  t:equal(none.range.uploads, { success_pct = json.null, mean_ms = json.null })
  t:equal(none.range.retention.d1, { users = 0, of = 0, pct = json.null })
  t:equal(none.range.errors, array {})
end)

test "a range is two dates in order, of a year at most" (function(t)
  t:at("2025-11-03T09:00:00Z")
  t:equal(t:query(nil, "kpis", {}).range.from, "2025-11-03")
  t:equal(#t:query(nil, "kpis", { from = "2025-10-31" }).days, 4)
  t:equal(#t:query(nil, "kpis", { from = "2024-03-01", to = "2025-03-01" }).days, 366)
  t:fails(function() t:query(nil, "kpis", { from = "2024-03-01", to = "2025-03-02" }) end, "at most 366 days")
  t:fails(function() t:query(nil, "kpis", { from = "2025-11-02", to = "2025-11-01" }) end, "`from` is after `to`")
  for _, text in ipairs { "2025-02-30", "2025-11-1", "yesterday" } do
    t:fails(function() t:query(nil, "kpis", { from = text, to = "2025-11-01" }) end, "`from` is not a date")
  end
  t:fails(function() t:query(nil, "kpis", { from = "2025-11-01", to = "" }) end, "`to` is not a date")
end)

test "an argument of another type, or of another name, is refused" (function(t)
  t:fails(function() t:query(nil, "kpis", { from = 7 }) end, "from")
  t:fails(function() t:query(nil, "kpis", { errors = "no" }) end, "errors")
  t:fails(function() t:query(nil, "kpis", { form = "2025-11-01" }) end, "form.*from")
end)

test "weekly users count once each within seven days" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  opted_in(t, "device:b", "2025-11-04T10:00:00Z")
  t:event("device:a", "session.started", {})
  local week = t:query(nil, "kpis", { from = "2025-10-31", to = "2025-11-12" })
  local wau = {}
  for i, one in ipairs(week.days) do wau[i] = one.wau end
  t:equal(wau, { 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 0, 0 })
  t:equal(week.range.wau, 0)
  t:equal(day(t, "2025-11-10").wau, 2)
end)

test "weekly users count once each where the window becomes another one" (function(t)
  t:each({ longer = { 3, 9 }, shorter = { 9, 3 } }, function(days)
    t:settings { active_window_days = days[1] }
    opted_in(t, "device:a", "2025-11-01T10:00:00Z")
    for i = 1, 20 do
      if i == 4 then t:settings { active_window_days = days[2] } end
      t:advance("1d")
      t:event("device:a", "session.started", {})
    end
    for _, one in ipairs(t:query(nil, "kpis", { from = "2025-11-01", to = "2025-11-21" }).days) do
      t:equal(one.wau, 1, one.day)
    end
  end)
end)

test "a range that ends on the first of a month has that day" (function(t)
  opted_in(t, "device:a", "2025-10-31T10:00:00Z")
  opted_in(t, "device:b", "2025-11-01T10:00:00Z")
  local range = t:query(nil, "kpis", { from = "2025-10-31", to = "2025-11-01" })
  t:equal({ range.days[1].dau, range.days[2].dau }, { 1, 1 })
  t:equal(math.type(range.range.dau), "integer")
end)

test "a range's dau is the mean of its days" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  opted_in(t, "device:b", "2025-11-01T10:00:00Z")
  opted_in(t, "device:a", "2025-11-02T10:00:00Z")
  t:equal(t:query(nil, "kpis", { from = "2025-11-01", to = "2025-11-02" }).range.dau, 1.5)
end)

test "gamification is on until it is switched off, and again when it is switched on" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  opted_in(t, "device:b", "2025-11-01T10:00:00Z")
  local function toggle(to)
    t:event("device:a", "settings_gamification_toggled", { new_state = to, total_flirts_revealed = 3 })
    return day(t, to == "later" and "2025-11-02" or "2025-11-01").gamification_enabled
  end
  t:equal(toggle("enabled"), { users = 2, of = 2, pct = 100.0 })
  t:equal(toggle("disabled"), { users = 1, of = 2, pct = 50.0 })
  t:equal(toggle("disabled").users, 1)
  t:equal(toggle("enabled").users, 2)
  t:equal(toggle("disabled").users, 1)
  opted_in(t, "device:a", "2025-11-02T10:00:00Z")
  t:equal(day(t, "2025-11-02").gamification_enabled, { users = 0, of = 1, pct = 0.0 })
end)

test "a streak counts each step once a day, on the day of its report and the next" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  t:event("device:a", "gamification_streak_updated", streak(3))
  t:event("device:a", "gamification_streak_updated", streak(3))
  local users = { users = 1, pct = 100.0 }
  t:equal(day(t, "2025-11-01").streaks, { day_1 = users, day_3 = users, day_7 = { users = 0, pct = 0.0 } })
  for date, n in pairs { ["2025-11-02"] = 1, ["2025-11-03"] = 0 } do
    opted_in(t, "device:a", date .. "T10:00:00Z")
    t:equal(day(t, date).streaks.day_3.users, n)
  end
  t:event("device:a", "gamification_streak_updated", streak(7))
  t:equal(day(t, "2025-11-03").streaks.day_7.users, 1)
end)

test "milestones and tiers count all users who have reached them by then" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  local milestone = { milestone_type = "connoisseur", flirts_revealed_count = 50, reward_points = 500 }
  local tier = { tier_unlocked = "silver", unlock_method = "streak_achieved", flirts_revealed_count = 4,
    current_streak = 3 }
  for _ = 1, 2 do
    t:event("device:a", "gamification_milestone_achieved", milestone)
    t:event("device:a", "gamification_tier_unlocked", tier)
  end
  opted_in(t, "device:b", "2025-11-03T10:00:00Z")
  t:event("device:b", "gamification_tier_unlocked", tier)
  local month = t:query(nil, "kpis", { from = "2025-11-01", to = "2025-11-03" })
  t:equal(month.days[1].milestones, { explorer = { users = 1, pct = 100.0 }, connoisseur = { users = 1, pct = 100.0 },
    master = { users = 0, pct = 0.0 } })
  t:equal(month.days[2].tiers.silver, { users = 1, pct = json.null })
  t:equal(month.range.tiers.silver, { users = 2, pct = 100.0 })
  t:equal(day(t, "2025-11-03").tiers.silver, { users = 2, pct = 100.0 })
  t:equal(day(t, "2025-10-31").tiers.silver.users, 0)
end)

test "retention is of the installs of that day, once the day has come" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  opted_in(t, "device:b", "2025-11-01T11:00:00Z")
  t:equal(day(t, "2025-11-01").retention.d1, { users = 0, of = 0, pct = json.null })
  opted_in(t, "device:a", "2025-11-02T23:59:00Z")
  opted_in(t, "device:a", "2025-11-02T23:59:30Z")
  t:equal(day(t, "2025-11-01").retention, { d1 = { users = 1, of = 2, pct = 50.0 },
    d7 = { users = 0, of = 0, pct = json.null }, d30 = { users = 0, of = 0, pct = json.null } })
  opted_in(t, "device:b", "2025-11-08T00:00:00Z")
  opted_in(t, "device:c", "2025-12-01T00:00:00Z")
  opted_in(t, "device:a", "2025-12-01T00:00:00Z")
  t:equal(day(t, "2025-11-01").retention, { d1 = { users = 1, of = 2, pct = 50.0 },
    d7 = { users = 1, of = 2, pct = 50.0 }, d30 = { users = 1, of = 2, pct = 50.0 } })
  t:equal(t:query(nil, "kpis", { from = "2025-11-01", to = "2025-12-01" }).range.retention.d1.of, 2)
end)

test "errors are counted by type and code, most common first, of the requests" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  for _ = 1, 4 do t:event("device:a", "screenshot_upload_initiated", { source = "camera" }) end
  t:event("device:a", "screenshot_analysis_started", { tone_selected = "bold" })
  t:event("device:a", "flirt_generation_started", { tone_selected = "bold" })
  local function show(kind, code)
    t:event("device:a", "error_displayed", { error_type = kind, error_code = code, screen = "home" })
  end
  show("api_error", "timeout") show("network_error", "offline") show("network_error", "offline")
  show("api_error", "bad_gateway")
  local range = day(t, "2025-11-01")
  t:equal(range.errors, {
    { type = "network_error", code = "offline", count = 2, pct = 33.3 },
    { type = "api_error", code = "bad_gateway", count = 1, pct = 16.7 },
    { type = "api_error", code = "timeout", count = 1, pct = 16.7 },
  })
  t:equal(range.error_impact, { sessions = 1, of = 1, pct = 100.0 })
end)

test "errors that are as common are sorted by type, then by code" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  for _, kind in ipairs { "network_error", "api_error", "input_error" } do
    for _, code in ipairs { "timeout", "refused", "lost" } do
      t:event("device:a", "error_displayed", { error_type = kind, error_code = code, screen = "home" })
    end
  end
  local listed = array {}
  for i, one in ipairs(day(t, "2025-11-01").errors) do listed[i] = one.type .. " " .. one.code end
  t:equal(listed, array {
    "api_error lost", "api_error refused", "api_error timeout", "input_error lost", "input_error refused",
    "input_error timeout", "network_error lost", "network_error refused", "network_error timeout",
  })
end)

local function shown(t, subject, kind, code)
  t:event(subject, "error_displayed", { error_type = kind, error_code = code, screen = "home" })
end

test "so many codes of a user count a day, and the others as other" (function(t)
  t:settings { codes_a_day = 3 }
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  for _ = 1, 2 do
    for i = 1, 20 do shown(t, "device:a", "api_error", "code_" .. i) end
  end
  shown(t, "device:a", "made_up", "code_1")
  opted_in(t, "device:b", "2025-11-01T10:00:00Z")
  shown(t, "device:b", "made_up", "code_20")
  local function counts(date)
    local found = {}
    for _, one in ipairs(day(t, date).errors) do found[one.type .. " " .. one.code] = one.count end
    return found
  end
  t:equal(counts "2025-11-01", {
    ["api_error code_1"] = 2, ["api_error code_2"] = 2, ["api_error code_3"] = 2, ["api_error other"] = 34,
    ["other other"] = 1, ["made_up code_20"] = 1,
  })
  opted_in(t, "device:a", "2025-11-02T10:00:00Z")
  shown(t, "device:a", "api_error", "code_20")
  t:equal(counts "2025-11-02", { ["api_error code_20"] = 1 })
end)

test "of too many codes errors say how many, and every other figure stays right" (function(t)
  for user = 1, 38 do
    opted_in(t, "device:" .. user, "2025-11-02T10:00:00Z")
    for i = 1, 50 do shown(t, "device:" .. user, "made_up_" .. user, "code_" .. i) end
  end
  opted_in(t, "device:1", "2025-12-03T10:00:00Z")
  shown(t, "device:1", "api_error", "timeout")
  t:settings { daily_range_days = 20 }
  local function long(from) return t:query(nil, "kpis", { from = from, to = "2025-12-03" }) end
  local flooded = long("2025-11-02").range
  t:equal(flooded.errors, { { type = "other", code = "other", count = 1901, pct = json.null } })
  t:equal({ flooded.dau, flooded.sessions, flooded.error_impact.sessions }, { 39 / 32, 39, 39 })
  t:equal(long("2025-11-03").range.errors, { { type = "api_error", code = "timeout", count = 1, pct = json.null } })
  t:equal(#day(t, "2025-11-02").errors, 1900)
end)

test "errors can be left out" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  shown(t, "device:a", "api_error", "timeout")
  local without = t:query(nil, "kpis", { errors = false })
  local whole = t:query(nil, "kpis")
  t:equal({ #whole.range.errors, #whole.days[1].errors }, { 1, 1 })
  whole.range.errors, whole.days[1].errors = nil, nil
  t:equal(without, whole)
end)

test "a session with errors counts on the day on which the session counts" (function(t)
  opted_in(t, "device:a", "2025-11-01T23:50:00Z")
  t:at("2025-11-02T00:10:00Z")
  for _ = 1, 2 do shown(t, "device:a", "api_error", "timeout") end
  t:equal(day(t, "2025-11-01").error_impact, { sessions = 1, of = 1, pct = 100.0 })
  t:equal(day(t, "2025-11-02").error_impact, { sessions = 0, of = 0, pct = json.null })
end)

test "the share of a milestone is that of the days' own users" (function(t)
  local milestone = { milestone_type = "explorer", flirts_revealed_count = 10, reward_points = 100 }
  for _, user in ipairs { "a", "b", "c" } do
    opted_in(t, "device:" .. user, "2025-11-01T10:00:00Z")
    t:event("device:" .. user, "gamification_milestone_achieved", milestone)
  end
  opted_in(t, "device:a", "2025-11-02T10:00:00Z")
  opted_in(t, "device:d", "2025-11-02T10:00:00Z")
  t:equal(day(t, "2025-11-02").milestones.explorer, { users = 3, pct = 50.0 })
  t:equal(t:query(nil, "kpis", { from = "2025-11-01" }).range.milestones.explorer, { users = 3, pct = 80.0 })
end)

test "what users had reached by a day is that without the days and the months after it" (function(t)
  local silver = { tier_unlocked = "silver", unlock_method = "streak_achieved", flirts_revealed_count = 4,
    current_streak = 3 }
  for i, date in ipairs { "2025-10-31", "2025-11-01", "2025-11-29", "2025-11-30", "2025-12-01", "2026-02-01" } do
    opted_in(t, "device:" .. i, date .. "T10:00:00Z")
    t:event("device:" .. i, "gamification_tier_unlocked", silver)
  end
  for date, users in pairs {
    ["2025-10-30"] = 0, ["2025-10-31"] = 1, ["2025-11-01"] = 2, ["2025-11-28"] = 2, ["2025-11-29"] = 3,
    ["2025-11-30"] = 4, ["2025-12-01"] = 5, ["2026-01-31"] = 5, ["2026-02-01"] = 6,
  } do t:equal({ date, day(t, date).tiers.silver.users }, { date, users }) end
end)

test "figures are kept for fourteen months" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  t:advance("425d")
  t:equal(t:query(nil, "kpis", { from = "2025-11-01", to = "2025-11-01" }).range.dau, 1)
  t:advance("1d")
  t:equal(t:counters(), array {})
end)

test "the counters bear the plugin's name, and have no subject" (function(t)
  opted_in(t, "device:secret-subject", "2025-11-01T10:00:00Z")
  t:event("device:secret-subject", "gamification_streak_updated", streak(3))
  local heard, owners = t:decided("device:secret-subject"), {}
  for _, counter in ipairs(t:counters()) do
    local owner = counter.name:match("^[^.]+")
    t:truthy(heard[owner] or owner == "gamification")
    owners[owner] = true
  end
  t:truthy(owners[plugin.name])
  t:equal(json.encode(t:counters()):find("secret", 1, true), nil)
end)

test "counts stay when the user's data is deleted" (function(t)
  opted_in(t, "device:a", "2025-11-01T10:00:00Z")
  t:event("device:a", "data.deleted", {})
  local range = day(t, "2025-11-01")
  t:equal(range.dau, 1)
  t:equal(range.churn, { analytics_disabled = 0, data_deleted = 1 })
end)

-- Two months and a half of a few users, who do a little every third day.
local function play(t)
  for date = 20393, 20393 + 75 do
    for user = 1, 3 do
      if (date + user) % 3 == 0 then
        local subject = "device:" .. user
        opted_in(t, subject, date * 86400 + 3600)
        shown(t, subject, "api_error", "code_" .. date % 4)
        t:event(subject, "screenshot_upload_success", { image_size_kb = 1, upload_duration_ms = date % 100 })
        local milestone = date % 7 == user and "master" or "explorer"
        t:event(subject, "gamification_milestone_achieved",
          { milestone_type = milestone, flirts_revealed_count = 10, reward_points = 100 })
      end
    end
  end
end

test "a long range has the figures of its months, and the users of its days" (function(t)
  play(t)
  local function compare(spans)
    local whole = { from = spans[1][1], to = spans[#spans][2] }
    t:settings { daily_range_days = 31 }
    local long = t:query(nil, "kpis", whole)
    t:equal(#long.months, #spans)
    for i, span in ipairs(spans) do
      local month = t:query(nil, "kpis", { from = span[1], to = span[2] }).range
      month.from, month.to, month.errors, month.month = nil, nil, nil, span[1]:sub(1, 7)
      t:equal(long.months[i], month)
    end
    t:settings { daily_range_days = 100 }
    local by_day = t:query(nil, "kpis", whole)
    t:equal({ long.range, #long.days }, { by_day.range, #by_day.days })
    for i, one in ipairs(by_day.days) do t:equal(long.days[i], { day = one.day, dau = one.dau, wau = one.wau }) end
  end
  compare { { "2025-10-20", "2025-10-31" }, { "2025-11-01", "2025-11-30" }, { "2025-12-01", "2025-12-31" } }
  compare { { "2025-11-11", "2025-11-30" }, { "2025-12-01", "2025-12-31" }, { "2026-01-01", "2026-01-10" } }
  compare { { "2025-11-11", "2025-11-30" }, { "2025-12-01", "2025-12-31" }, { "2026-01-01", "2026-01-16" } }
end)
