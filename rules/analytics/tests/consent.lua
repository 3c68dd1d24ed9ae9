-- Consent, the reports' ways in, and deletion.

local own = require "own"

local function opted_in(t, subject)
  t:at("2025-11-03T09:00:00Z")
  t:event(subject, "settings.analytics_toggled", { enabled = true })
  t:event(subject, "session.started", { session_id = "s-1" })
end

local upload = { source = "camera" }

local function nothing_is_left(t, subject) t:equal(next(t:state(subject) or {}), nil) end

test "nothing is sent before the user has opted in" (function(t)
  local outcome = t:event("device:a", "screenshot_upload_initiated", { source = "camera", session_id = "s-1" })
  t:equal(outcome.decisions, { accepted = false, reason = "opted_out" })
  t:equal(own(outcome), {})
  local invalid = t:event("device:a", "analytics.track", { name = "Nonsense" })
  t:equal(invalid.decisions, { accepted = false, reason = "opted_out" })
  t:equal(own(invalid), {})
  t:equal((t:state("device:a") or {}).consent, nil)
end)

test "opting in is reported, also without a session" (function(t)
  local outcome = t:event("user:a", "settings.analytics_toggled", { enabled = true })
  t:equal(outcome.decisions, { accepted = true })
  t:equal(#own(outcome), 1)
  t:equal(own(outcome)[1].sink, "analytics")
  t:equal(own(outcome)[1].type, "settings_analytics_toggled")
  t:equal(own(outcome)[1].data, { new_state = "enabled" })
end)

test "opting out is the last thing that is reported" (function(t)
  opted_in(t, "device:a")
  local last = t:event("device:a", "settings.analytics_toggled", { enabled = false })
  t:equal(last.decisions.accepted, true)
  t:equal(own(last)[1].data, { new_state = "disabled", session_id = "s-1" })
  t:equal(t:event("device:a", "screenshot_upload_initiated", upload).decisions.reason, "opted_out")
  t:equal(t:event("device:a", "settings.analytics_toggled", { enabled = false }).decisions.reason, "opted_out")
end)

test "a consent that is not a boolean changes nothing" (function(t)
  t:equal(t:event("device:a", "settings.analytics_toggled", { enabled = "yes" }).decisions.reason, "opted_out")
  opted_in(t, "device:a")
  local odd = t:event("device:a", "settings.analytics_toggled", { enabled = 1 })
  t:equal(odd.decisions.violations, { { path = "new_state", kind = "type" } })
  t:equal(t:event("device:a", "settings.analytics_toggled", {}).decisions.violations,
    { { path = "new_state", kind = "missing" } })
  t:equal(t:event("device:a", "screenshot_upload_initiated", upload).decisions.accepted, true)
end)

test "the report that analytics was toggled does not toggle it" (function(t)
  opted_in(t, "device:a")
  t:equal(t:event("device:a", "settings_analytics_toggled", { new_state = "disabled" }).decisions.accepted, true)
  t:equal(t:event("device:a", "screenshot_upload_initiated", upload).decisions.accepted, true)
end)

test "an event of the plan and analytics.track are the same report" (function(t)
  opted_in(t, "device:a")
  local sent = t:event("device:a", "screenshot_upload_initiated", upload)
  local tracked = t:event("device:a", "analytics.track", { name = "screenshot_upload_initiated", properties = upload })
  t:equal(sent.decisions, { accepted = true })
  t:equal(tracked.decisions, sent.decisions)
  t:equal(own(sent)[1].data, { source = "camera", session_id = "s-1" })
  t:equal(own(tracked)[1].type, "screenshot_upload_initiated")
  t:equal(own(tracked)[1].data, own(sent)[1].data)
end)

test "data of the wrong shape is refused and is not a failure" (function(t)
  opted_in(t, "device:a")
  local list = t:event("device:a", "analytics.track", { name = "app_opened", properties = { "cold_start" } })
  t:equal(list.decisions.violations, { { path = "", kind = "type" } })
  local text = t:event("device:a", "analytics.track", { name = "app_opened", properties = "cold_start" })
  t:equal(text.decisions.violations, { { path = "", kind = "type" } })
  for _, kind in ipairs { "analytics.track", "app.opened", "session.started", "session.ended", "profile.updated",
    "settings.analytics_toggled", "screen.viewed", "flirts.generated", "data.deleted" } do
    for _, failure in ipairs(t:event("device:a", kind, { "a", "list" }).failures) do
      t:truthy(failure.plugin ~= "analytics")
    end
  end
end)

test "deleting is sent and counted, then everything is erased" (function(t)
  opted_in(t, "device:a")
  t:advance("3d")
  local outcome = t:event("device:a", "data.deleted", {})
  t:equal(outcome.decisions.accepted, true)
  local sent
  for _, effect in ipairs(own(outcome)) do
    if effect.plugin == "analytics" then
      t:equal(sent, nil)
      sent = effect
    end
  end
  t:equal(sent.type, "settings_data_deleted")
  t:equal(sent.data.days_since_install, 3)
  t:equal(sent.data.total_points_binned, "0-100")
  t:truthy(sent.data.session_id)
  nothing_is_left(t, "device:a")
  t:equal(t:query(nil, "kpis", { from = "2025-11-06", to = "2025-11-06" }).range.churn,
    { analytics_disabled = 0, data_deleted = 1 })
  t:equal(t:event("device:a", "screenshot_upload_initiated", upload).decisions.reason, "opted_out")
  t:equal(t:event("device:a", "settings_data_deleted", {}).decisions.reason, "opted_out")
  nothing_is_left(t, "device:a")
end)

test "the report of a deletion has the points as a range, whatever gamification has" (function(t)
  local bins = { [100] = "0-100", [101] = "101-500", [6000] = "5000+", [-5] = "0-100", [700.5] = "0-100" }
  for points, binned in pairs(bins) do
    opted_in(t, "device:a")
    local player = { points = points, revealed = 0, streak = 0, freezes = 0, installed = 20000 }
    t:given("device:a", 7, { analytics = t:state("device:a"), gamification = player })
    for _, effect in ipairs(own(t:event("device:a", "data.deleted", {}))) do
      if effect.plugin == "analytics" then t:equal(effect.data.total_points_binned, binned) end
    end
  end
end)

test "deleting without consent erases everything and sends nothing" (function(t)
  t:event("device:a", "app.opened", { launch_type = "cold_start" })
  t:truthy(t:state("device:a").installed)
  local outcome = t:event("device:a", "data.deleted", {})
  t:equal(outcome.decisions, { accepted = false, reason = "opted_out" })
  nothing_is_left(t, "device:a")
end)

-- A state with which every report fails.
local function broken(t)
  t:given("device:a", 7, { analytics = { consent = true, installed = "never" } })
  t:equal(t:event("device:a", "session.started", {}).decisions.accepted, nil)
  t:equal(#t:failures(), 1)
end

test "opting out ends consent, even if its report fails" (function(t)
  broken(t)
  local outcome = t:event("device:a", "settings.analytics_toggled", { enabled = false })
  t:equal({ outcome.decisions, outcome.failures }, { { accepted = true, reason = "failed" }, array {} })
  t:equal(t:event("device:a", "screenshot_upload_initiated", upload).decisions.reason, "opted_out")
end)

test "deleting erases everything, even if its report fails" (function(t)
  broken(t)
  local outcome = t:event("device:a", "data.deleted", {})
  t:equal({ outcome.decisions, outcome.failures }, { { accepted = false, reason = "failed" }, array {} })
  nothing_is_left(t, "device:a")
end)

test "a time zone that the host does not know any more changes neither" (function(t)
  opted_in(t, "device:a")
  local state = t:state("device:a")
  state.zone = "Mars/Olympus"
  t:given("device:a", 7, { analytics = state })
  t:equal(own(t:event("device:a", "app.opened", { launch_type = "cold_start" }))[1].data.days_since_install, 0)
  t:equal(t:event("device:a", "settings.analytics_toggled", { enabled = false }).decisions.accepted, true)
end)
