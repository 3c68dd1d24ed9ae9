-- The whole catalogue, out of plan.json: each event valid, and each property wrong in each way that it can be.

local own = require "own"

local plan = data("plan.json").events
local bins = { points = { "0-100", "101-500", "501-1000", "1001-5000", "5000+" },
  flirts_revealed = { "0-10", "11-50", "51-100", "100+" } }

local function good(of, name)
  if of.values then return of.values[1] end
  if of.bins then return 0 end
  if of.type == "bool" then return false end
  if of.type == "string" then return of.form == "code" and "network_error" or of.form == "id" and "s-9" or name end
  return of.min or 0
end

local function valid(event)
  local properties = {}
  for name, of in pairs(plan[event]) do properties[name] = good(of, name) end
  return properties
end

-- {value, kind}: what the property may not be.
local function wrong(of)
  local all = { { { 1, 2 }, "type" }, { "write to anna@example.com", "pii" } }
  local number = of.type == "int" or of.type == "double"
  if not of.optional and not of.derived then all[#all + 1] = { nil, "missing" } end
  if of.bins then
    all[#all + 1] = { -1, "range" }
    all[#all + 1] = { 1.5, "type" }
    all[#all + 1] = { "0-99", "value" }
  elseif number then
    all[#all + 1] = { "1", "type" }
    all[#all + 1] = { true, "type" }
  else
    all[#all + 1] = { of.form == "code" and 7.5 or 7, "type" }
  end
  if of.type == "int" and not of.bins then all[#all + 1] = { 0.5, "type" } end
  if of.type == "int" then
    all[#all + 1] = { 1e300, "type" }
    all[#all + 1] = { -9223372036854775809, "type" }
    all[#all + 1] = { 18446744073709551615.0, "type" }
  end
  if of.values then all[#all + 1] = { number and 99 or "unheard_of", "value" } end
  if of.form == "screen" then
    all[#all + 1] = { "home?", "value" }
    all[#all + 1] = { "", "value" }
    all[#all + 1] = { "Anna wrote this", "pii" }
  end
  if of.form == "id" then all[#all + 1] = { "two words", "value" } end
  if of.min then all[#all + 1] = { of.min - 1, "range" } end
  if of.max then all[#all + 1] = { of.max + 1, "range" } end
  return all
end

local function opted_in(t)
  t:event("device:c", "settings.analytics_toggled", { enabled = true })
  t:event("device:c", "session.started", {})
end

test "every event of the plan is accepted and sent unchanged" (function(t)
  opted_in(t)
  local n = 0
  for event, of in pairs(plan) do
    n = n + 1
    local properties = valid(event)
    local outcome = t:event("device:c", event, properties)
    t:equal(outcome.decisions, { accepted = true })
    t:equal(outcome.failures, {})
    local effect = own(outcome)[1]
    t:equal(effect.sink, "analytics")
    t:equal(effect.type, event)
    for name, one in pairs(of) do
      t:equal(effect.data[name], one.bins and bins[one.bins][1] or properties[name])
    end
  end
  t:equal(n, 27)
end)

test "every property is refused if it is missing, of another type, out of range or unlisted" (function(t)
  opted_in(t)
  for event, of in pairs(plan) do
    for name, one in pairs(of) do
      for _, case in pairs(wrong(one)) do
        local properties = valid(event)
        properties[name] = case[1]
        local outcome = t:event("device:c", "analytics.track", { name = event, properties = properties })
        t:equal(outcome.decisions,
          { accepted = false, reason = "invalid", violations = { { path = name, kind = case[2] } } })
        t:equal(#own(outcome), 1)
        t:equal(own(outcome)[1].sink, "rejected")
        t:equal(own(outcome)[1].data, { event = event, violations = { { path = name, kind = case[2] } } })
      end
    end
  end
end)

test "every listed value is accepted, and no other" (function(t)
  opted_in(t)
  for event, of in pairs(plan) do
    for name, one in pairs(of) do
      for _, value in ipairs(one.values or {}) do
        local properties = valid(event)
        properties[name] = value
        t:equal(t:event("device:c", event, properties).decisions, { accepted = true })
      end
    end
  end
end)

test "a code of any form counts, and is sent as other where it is none" (function(t)
  opted_in(t)
  local codes = {
    ["503"] = "503", ["-1001"] = "-1001", RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED", timeout = "timeout",
    ["NSURLErrorDomain:-1009"] = "NSURLErrorDomain:-1009", ["auth/quota"] = "other", [""] = "other",
    ["Something went wrong"] = "other", ["timeout!"] = "other", [("k"):rep(40)] = ("k"):rep(40),
    [("k"):rep(41)] = "other", [("no answer "):rep(30)] = "other",
  }
  for code, sent in pairs(codes) do
    local shown = t:event("device:c", "error_displayed", { error_type = code, error_code = code, screen = "home" })
    t:equal(shown.decisions, { accepted = true })
    t:equal({ own(shown)[1].data.error_type, own(shown)[1].data.error_code }, { sent, sent })
    local failed = { error_code = code, error_message = "no answer", retry_attempt = 1 }
    t:equal(own(t:event("device:c", "flirt_generation_failed", failed))[1].data.error_code, sent)
  end
end)

test "a code that is a whole number is its text, which counts" (function(t)
  opted_in(t)
  local codes = {
    [503] = "503", [-1001] = "-1001", [429.0] = "429", [-2147467259] = "-2147467259", ["-2147467259"] = "-2147467259",
    [4917012345678] = "other",
  }
  for code, sent in pairs(codes) do
    local shown = t:event("device:c", "error_displayed", { error_type = code, error_code = code, screen = "home" })
    t:equal({ own(shown)[1].data.error_type, own(shown)[1].data.error_code }, { sent, sent })
    local failed = { error_code = code, error_message = "no answer", retry_attempt = 1 }
    t:equal(own(t:event("device:c", "screenshot_upload_failed", failed))[1].data.error_code, sent)
  end
end)

test "a failure outside of a session is counted" (function(t)
  opted_in(t)
  t:advance("1h")
  local shown = t:event("device:c", "error_displayed", { error_type = "api", error_code = "timeout", screen = "home" })
  t:equal(shown.decisions, { accepted = true })
  t:equal(own(shown)[1].data.session_id, nil)
  for _, event in ipairs { "screenshot_upload_failed", "screenshot_analysis_failed", "flirt_generation_failed" } do
    local failed = { error_code = "timeout", error_message = "no answer", retry_attempt = 1 }
    t:equal(t:event("device:c", event, failed).decisions, { accepted = true })
  end
end)

test "a rule may report values that the plan does not list, where they are another plugin's settings" (function(t)
  opted_in(t)
  t:settings({
    points = { scroll_reveal = 10, copy_flirt = 15, rate_flirt = 5, generate_flirts = 20, daily_login = 25 },
    multipliers = { { streak = 1, times = 1.5 } }, milestones = { { type = "starter", at = 1, reward = 7 } },
    tiers = { { name = "tin", revealed = 1, streak = 99, spent = 99 } }, tutorial = { "Hello", "Go", "On", "Done" },
  }, "gamification")
  local function sent(type, data)
    local outcome, all = t:event("device:c", type, data), {}
    for _, effect in ipairs(own(outcome)) do
      t:equal({ effect.sink, effect.data.violations }, { "analytics" })
      all[effect.type] = effect.data
    end
    return all
  end
  local all = sent("flirt.revealed", { flirt_index = 0, scroll_duration_ms = 9, reveal_method = "scroll" })
  t:equal(all.gamification_points_awarded.multiplier, 1.5)
  t:equal(all.gamification_milestone_achieved.milestone_type, "starter")
  t:equal(all.gamification_tier_unlocked.tier_unlocked, "tin")
  all = sent("flirt.copied", { flirt_index = 0, tone_used = "bold", quality_tier = "tin" })
  t:equal(all.gamification_flirt_copied.quality_tier, "tin")
  t:equal(sent("tutorial.step_viewed", { step_number = 4 }).gamification_tutorial_step_viewed.step_title, "Done")
  local clients = { flirt_index = 0, tone_used = "bold", quality_tier = "tin" }
  t:equal(t:event("device:c", "gamification_flirt_copied", clients).decisions.violations,
    { { path = "quality_tier", kind = "value" } })
  local figures = t:query(nil, "kpis").range
  t:equal({ figures.milestones.starter.users, figures.milestones.explorer.users }, { 1, 0 })
  t:equal(figures.tiers.tin, { users = 1, pct = 100.0 })
end)

test "points and flirts leave in the plugin's own ranges, whatever another plugin counts" (function(t)
  opted_in(t)
  t:settings { bins = { points = { 20, 30 }, flirts_revealed = { 10, 50, 100 } } }
  for _, bin in ipairs { "0-20", "21-30", "30+" } do
    for _, effect in ipairs(own(t:event("device:c", "flirt.copied", { flirt_index = 0 }))) do
      local after = effect.data.total_points_after
      if after then t:equal(after, bin) end
    end
  end
end)

test "the document's future values are in the plan" (function(t)
  opted_in(t)
  local reveal = { reveal_method = "ad_watched", scroll_duration_ms = 1, flirt_index = 2 }
  t:equal(t:event("device:c", "gamification_flirt_revealed", reveal).decisions.accepted, true)
  t:equal(t:event("device:c", "settings_data_exported", { export_format = "pdf" }).decisions.accepted, true)
end)

test "a derived property is missing only if it can't be derived" (function(t)
  t:event("device:c", "settings.analytics_toggled", { enabled = true })
  t:equal(t:event("device:c", "session_ended", {}).decisions.violations, {
    { path = "flirts_generated", kind = "missing" }, { path = "screens_visited", kind = "missing" },
    { path = "session_duration_seconds", kind = "missing" }, { path = "session_id", kind = "missing" },
  })
  t:equal(t:event("device:c", "app_opened", { launch_type = "cold_start" }).decisions.violations,
    { { path = "session_id", kind = "missing" } })
end)

test "names: lower case, underscores, 40 characters" (function(t)
  opted_in(t)
  for name, kind in pairs {
    flirt_sent = "unknown_event", screenshot_upload = "unknown_event", [("a"):rep(40)] = "unknown_event",
    [("a"):rep(41)] = "name", App_opened = "name", ["app.opened"] = "name", ["app opened"] = "name",
    ["app-opened"] = "name", _app = "name", [""] = "name", ["anna@example.com"] = "name",
  } do
    local outcome = t:event("device:c", "analytics.track", { name = name, properties = { email = "a@b.example" } })
    t:equal(outcome.decisions.violations, { { path = "", kind = kind } })
    t:equal(own(outcome)[1].data.event, json.null)
  end
  t:equal(t:event("device:c", "analytics.track", {}).decisions.violations, { { path = "", kind = "name" } })
  t:equal(t:event("device:c", "analytics.track", { name = 7 }).decisions.violations, { { path = "", kind = "name" } })
end)

test "several violations are listed in order of path, one for each property" (function(t)
  opted_in(t)
  local outcome = t:event("device:c", "gamification_flirt_rated",
    { rating = 6, flirt_index = "0", tone_used = "rude", streak = 12, email = "x" })
  t:equal(outcome.decisions.violations, {
    { path = "email", kind = "pii" }, { path = "flirt_index", kind = "type" },
    { path = "quality_tier", kind = "missing" }, { path = "rating", kind = "range" },
    { path = "streak", kind = "unknown_property" }, { path = "tone_used", kind = "value" },
  })
end)

test "no more violations are listed than the setting says" (function(t)
  t:settings { violations_listed = 3, unknown_properties = "refuse" }
  opted_in(t)
  local many = { launch_type = "cold_start" }
  for i = 1, 9 do many["extra_" .. i] = i end
  t:equal(#t:event("device:c", "app_opened", many).decisions.violations, 3)
end)

test "a whole number is a valid Double, and a whole float a valid Int" (function(t)
  opted_in(t)
  local points = { action = "daily_login", points_earned = 25.0, multiplier = 2, total_points_after = 501.0 }
  local outcome = t:event("device:c", "gamification_points_awarded", points)
  t:equal(outcome.decisions.accepted, true)
  t:equal(own(outcome)[1].data.points_earned, 25)
  t:equal(math.type(own(outcome)[1].data.points_earned), "integer")
  t:equal(own(outcome)[1].data.total_points_after, "501-1000")
end)

test "exact counts are sent only as bins" (function(t)
  opted_in(t)
  local points = { [0] = "0-100", [100] = "0-100", [101] = "101-500", [500] = "101-500", [501] = "501-1000",
    [1000] = "501-1000", [1001] = "1001-5000", [5000] = "1001-5000", [5001] = "5000+", [90000] = "5000+" }
  for total, bin in pairs(points) do
    local awarded = { action = "daily_login", points_earned = 25, multiplier = 1.0, total_points_after = total }
    t:equal(own(t:event("device:c", "gamification_points_awarded", awarded))[1].data.total_points_after, bin)
    local deleted = t:event("device:c", "settings_data_deleted", { total_points_binned = total })
    t:equal(own(deleted)[1].data.total_points_binned, bin)
  end
  local flirts = { [0] = "0-10", [10] = "0-10", [11] = "11-50", [50] = "11-50", [51] = "51-100", [100] = "51-100",
    [101] = "100+" }
  for revealed, bin in pairs(flirts) do
    local toggled = { new_state = "enabled", total_flirts_revealed = revealed }
    t:equal(own(t:event("device:c", "settings_gamification_toggled", toggled))[1].data.total_flirts_revealed, bin)
    local tier = { tier_unlocked = "gold", unlock_method = "points_spent", flirts_revealed_count = revealed,
      current_streak = 2 }
    t:equal(own(t:event("device:c", "gamification_tier_unlocked", tier))[1].data.flirts_revealed_count, bin)
  end
end)

test "a bin is accepted unchanged" (function(t)
  opted_in(t)
  for _, bin in ipairs(bins.points) do
    local deleted = t:event("device:c", "settings_data_deleted", { total_points_binned = bin })
    t:equal(own(deleted)[1].data.total_points_binned, bin)
  end
  for _, bin in ipairs(bins.flirts_revealed) do
    local toggled = { new_state = "disabled", total_flirts_revealed = bin }
    t:equal(own(t:event("device:c", "settings_gamification_toggled", toggled))[1].data.total_flirts_revealed, bin)
  end
end)
