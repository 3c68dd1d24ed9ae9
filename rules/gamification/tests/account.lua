-- On and off, tutorial, export and deletion, and the state that stays within its bounds.
local function toggle(t, enabled)
  return t:event("user:1", "settings.gamification_toggled", { enabled = enabled })
end

test "while off, nothing is earned or lost" (function(t)
  t:event("user:1", "flirt.revealed", { flirt_index = 0 })
  t:equal(toggle(t, false).decisions, {})
  for _, type in ipairs { "flirt.revealed", "flirt.copied", "flirts.generated", "app.opened" } do
    t:equal(t:event("user:1", type, {}).decisions, {})
  end
  t:equal(t:event("user:1", "flirt.rated", { rating = 5 }).decisions, {})
  t:equal(t:event("user:1", "points.spent", { amount = 5 }).decisions, { error = "gamification_off" })
  local profile = t:query("user:1", "profile")
  t:equal({ profile.points, profile.revealed, profile.streak }, { 10, 1, 1 })
  t:equal(t:query("user:1", "export").settings.enabled, false)
  toggle(t, true)
  t:equal(t:event("user:1", "app.opened").decisions.points.total, 35)
end)

test "a toggle without a boolean changes nothing" (function(t)
  for _, enabled in ipairs { "true", 1 } do t:equal(toggle(t, enabled).decisions, { error = "invalid_enabled" }) end
  t:equal(toggle(t, nil).decisions, { error = "invalid_enabled" })
  t:equal(t:state("user:1"), {})
end)

test "the tutorial remembers its step and its time" (function(t)
  t:at("2025-11-01T09:00:00Z")
  t:equal(t:event("user:1", "tutorial.step_viewed", { step_number = 1 }).failures, {})
  t:advance("40s")
  t:event("user:1", "tutorial.step_viewed", { step_number = 2, step_title = "Earn Points" })
  t:equal(t:state("user:1").tutorial, { step = 2, since = calendar.parse("2025-11-01T09:00:00Z") })
  t:advance("40d")
  t:event("user:1", "tutorial.step_viewed", { step_number = 1 })
  t:equal(t:state("user:1").tutorial.since, calendar.parse("2025-12-11T09:00:40Z"))
  t:equal(t:event("user:1", "tutorial.skipped").failures, {})
  t:equal(t:event("user:1", "tutorial.completed").failures, {})
  t:equal(t:event("user:2", "tutorial.completed", { skipped = true, completion_time_seconds = 3 }).failures, {})
  t:equal(t:event("user:1", "tutorial.step_viewed", { step_number = "one" }).failures, {})
  t:equal(t:event("user:1", "tutorial.rewound").decisions, {})
end)

test "an export holds profile, history and settings" (function(t)
  t:event("user:1", "profile.updated", { time_zone = "Europe/Berlin" })
  t:event("user:1", "flirt.copied", {})
  t:equal(t:event("user:1", "data.exported").failures, {})
  local export = t:query("user:1", "export")
  t:equal(export.profile, t:query("user:1", "profile"))
  t:equal(export.history, t:query("user:1", "history"))
  t:equal(export.settings, { enabled = true, time_zone = "Europe/Berlin" })
end)

test "deletion erases everything" (function(t)
  t:event("user:1", "flirt.copied", {})
  t:equal(t:event("user:1", "data.deleted").failures, {})
  t:equal(t:state("user:1"), {})
  t:equal(t:query("user:1", "profile").points, 0)
  t:equal(t:event("user:2", "data.deleted").failures, {})
end)

test "the state stays small after a year of daily use" (function(t)
  for _ = 1, 365 do
    t:event("user:1", "flirt.revealed", { flirt_index = 0 })
    t:advance("1d")
  end
  t:truthy(#json.encode(t:state("user:1")) < 8192)
end)
