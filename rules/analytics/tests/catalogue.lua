-- The whole catalogue, out of plan.json: each event valid, and each property wrong in each way that it can be.

local plan = data("plan.json").events
local bins = { points = { "0-100", "101-500", "501-1000", "1001-5000", "5000+" },
  flirts_revealed = { "0-10", "11-50", "51-100", "100+" } }

local function good(of, name)
  if of.values then return of.values[1] end
  if of.bins then return 0 end
  if of.type == "bool" then return false end
  if of.type == "string" then return of.form == "word" and "network_error" or of.form == "id" and "s-9" or name end
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
    all[#all + 1] = { 7, "type" }
  end
  if of.type == "int" and not of.bins then all[#all + 1] = { 0.5, "type" } end
  if of.type == "int" then
    all[#all + 1] = { 1e300, "type" }
    all[#all + 1] = { 18446744073709551615.0, "type" }
  end
  if of.values then all[#all + 1] = { number and 99 or "unheard_of", "value" } end
  if of.form == "word" then
    all[#all + 1] = { "Network", "value" }
    all[#all + 1] = { "", "value" }
    all[#all + 1] = { ("a"):rep(41), "value" }
  end
  if of.form == "screen" then
    all[#all + 1] = { "home?", "value" }
    all[#all + 1] = { "", "value" }
  end
  if of.form == "word" or of.form == "screen" then all[#all + 1] = { "Anna wrote this", "pii" } end
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
    local effect = outcome.effects[1]
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
        t:equal(#outcome.effects, 1)
        t:equal(outcome.effects[1].sink, "rejected")
        t:equal(outcome.effects[1].data, { event = event, violations = { { path = name, kind = case[2] } } })
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
    t:equal(outcome.effects[1].data.event, json.null)
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
  t:settings { violations_listed = 3 }
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
  t:equal(outcome.effects[1].data.points_earned, 25)
  t:equal(math.type(outcome.effects[1].data.points_earned), "integer")
  t:equal(outcome.effects[1].data.total_points_after, "501-1000")
end)

test "exact counts are sent only as bins" (function(t)
  opted_in(t)
  local points = { [0] = "0-100", [100] = "0-100", [101] = "101-500", [500] = "101-500", [501] = "501-1000",
    [1000] = "501-1000", [1001] = "1001-5000", [5000] = "1001-5000", [5001] = "5000+", [90000] = "5000+" }
  for total, bin in pairs(points) do
    local awarded = { action = "daily_login", points_earned = 25, multiplier = 1.0, total_points_after = total }
    t:equal(t:event("device:c", "gamification_points_awarded", awarded).effects[1].data.total_points_after, bin)
    local deleted = t:event("device:c", "settings_data_deleted", { total_points_binned = total })
    t:equal(deleted.effects[1].data.total_points_binned, bin)
  end
  local flirts = { [0] = "0-10", [10] = "0-10", [11] = "11-50", [50] = "11-50", [51] = "51-100", [100] = "51-100",
    [101] = "100+" }
  for revealed, bin in pairs(flirts) do
    local toggled = { new_state = "enabled", total_flirts_revealed = revealed }
    t:equal(t:event("device:c", "settings_gamification_toggled", toggled).effects[1].data.total_flirts_revealed, bin)
    local tier = { tier_unlocked = "gold", unlock_method = "points_spent", flirts_revealed_count = revealed,
      current_streak = 2 }
    t:equal(t:event("device:c", "gamification_tier_unlocked", tier).effects[1].data.flirts_revealed_count, bin)
  end
end)

test "a bin is accepted unchanged" (function(t)
  opted_in(t)
  for _, bin in ipairs(bins.points) do
    local deleted = t:event("device:c", "settings_data_deleted", { total_points_binned = bin })
    t:equal(deleted.effects[1].data.total_points_binned, bin)
  end
  for _, bin in ipairs(bins.flirts_revealed) do
    local toggled = { new_state = "disabled", total_flirts_revealed = bin }
    t:equal(t:event("device:c", "settings_gamification_toggled", toggled).effects[1].data.total_flirts_revealed, bin)
  end
end)
