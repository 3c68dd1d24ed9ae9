-- Sessions, and properties derived from them, from the days and from the time of day.

local own = require "own"

local function opted_in(t, subject)
  t:at("2025-11-03T09:00:00Z")       -- a Monday
  t:event(subject, "settings.analytics_toggled", { enabled = true })
end

local function sent(outcome)
  for _, effect in ipairs(own(outcome)) do
    if effect.sink == "analytics" and effect.plugin == "analytics" then return effect.data end
  end
  return nil
end

local upload = { source = "camera" }

test "a session has the given id or a new one, different each time" (function(t)
  opted_in(t, "device:s")
  t:equal(sent(t:event("device:s", "session.started", { session_id = "mine" })),
    { session_id = "mine", time_of_day = "morning", day_of_week = "monday" })
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, "mine")
  local first = sent(t:event("device:s", "session.started", {})).session_id
  local second = sent(t:event("device:s", "session.started", {})).session_id
  t:truthy(first ~= second and first ~= "mine" and second ~= "mine")
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, second)
end)

test "a session that starts again under its id is the same one" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  t:advance "60s"
  t:event("device:s", "session.started", { session_id = "mine" })
  t:equal(sent(t:event("device:s", "session.ended", {})).session_duration_seconds, 60)
  t:equal(t:query(nil, "kpis").range.sessions, 1)
end)

test "a given id is kept, whatever session is open" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  local other = sent(t:event("device:s", "screenshot_upload_initiated", { source = "camera", session_id = "other" }))
  t:equal(other.session_id, "other")
end)

test "an invalid id opens no session" (function(t)
  opted_in(t, "device:s")
  for id, kind in pairs { ["a b"] = "value", ["a@b.example"] = "pii", [""] = "value" } do
    t:event("device:s", "session.started", {})
    t:equal(t:event("device:s", "session.started", { session_id = id }).decisions.violations,
      { { path = "session_id", kind = kind } })
    t:equal(t:event("device:s", "screenshot_upload_initiated", upload).decisions.violations,
      { { path = "session_id", kind = "missing" } })
  end
  t:equal(t:event("device:s", "session.started", { session_id = 5 }).decisions.violations,
    { { path = "session_id", kind = "type" } })
end)

test "session.ended ends the session with its figures" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  t:event("device:s", "screen.viewed", {})
  t:advance("90s")
  t:event("device:s", "screen.viewed", {})
  t:event("device:s", "flirts.generated", { flirt_count = 3 })
  local completed = { generation_duration_ms = 800, tone_selected = "witty", flirt_count = 3 }
  t:event("device:s", "flirt_generation_completed", completed)
  t:event("device:s", "flirt_generation_completed", completed)
  t:advance("30s")
  t:equal(sent(t:event("device:s", "session.ended", {})),
    { session_id = "mine", session_duration_seconds = 120, screens_visited = 2, flirts_generated = 2 })
  t:equal(t:event("device:s", "session.ended", {}).decisions.accepted, false)
end)

test "flirts that were announced count if more of them were announced than completed" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  for _ = 1, 3 do t:event("device:s", "flirts.generated", { flirt_count = 3 }) end
  t:equal(sent(t:event("device:s", "session.ended", {})).flirts_generated, 3)
end)

test "a property that the client sends is not derived" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", {})
  t:equal(sent(t:event("device:s", "session.ended",
    { session_id = "x", session_duration_seconds = 7, screens_visited = 8, flirts_generated = 9 })),
    { session_id = "x", session_duration_seconds = 7, screens_visited = 8, flirts_generated = 9 })
  t:equal(sent(t:event("device:s", "session.ended", { screens_visited = 4 })).screens_visited, 4)
end)

test "the end of another session ends nothing and derives nothing" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  t:equal(#t:event("device:s", "session.ended", { session_id = "other" }).decisions.violations, 3)
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, "mine")
end)

test "thirty minutes without an event end a session" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", { session_id = "mine" })
  t:advance("29m")
  t:event("device:s", "screen.viewed", {})
  t:advance("1799s")
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, "mine")
  t:advance("30m")
  t:equal(t:event("device:s", "screenshot_upload_initiated", upload).decisions.violations,
    { { path = "session_id", kind = "missing" } })
  t:event("device:s", "screen.viewed", {})
  t:event("device:s", "flirts.generated", {})
  t:equal(t:state("device:s").sessions, {})
end)

test "a session that began before the consent continues" (function(t)
  t:event("device:s", "session.started", { session_id = "early" })
  t:event("device:s", "settings.analytics_toggled", { enabled = true })
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, "early")
end)

test "a session that app.opened opened before the consent does not count" (function(t)
  t:event("device:s", "app.opened", { launch_type = "cold_start" })
  t:event("device:s", "settings.analytics_toggled", { enabled = true })
  t:truthy(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id)
  t:equal(t:query(nil, "kpis").range.sessions, 0)
end)

test "days since the install and since the last opening are civil days" (function(t)
  t:at("2025-11-03T23:50:00Z")
  t:event("device:s", "session.started", {})
  t:event("device:s", "settings.analytics_toggled", { enabled = true })
  local function open()
    t:event("device:s", "session.started", {})
    local data = sent(t:event("device:s", "app.opened", { launch_type = "cold_start" }))
    return data.days_since_install .. " " .. data.days_since_last_open
  end
  t:equal(open(), "0 0")
  t:advance("20m")
  t:equal(open(), "1 1")
  t:advance("5h")
  t:equal(open(), "1 0")
  t:advance("9d")
  t:equal(open(), "10 9")
end)

test "the parts of a day are in the user's time zone" (function(t)
  opted_in(t, "device:s")
  local parts = { ["04:59"] = "night", ["05:00"] = "morning", ["11:59"] = "morning", ["12:00"] = "afternoon",
    ["16:59"] = "afternoon", ["17:00"] = "evening", ["20:59"] = "evening", ["21:00"] = "night", ["00:00"] = "night" }
  for clock, part in pairs(parts) do
    t:at("2025-11-08T" .. clock .. ":00Z")
    local data = sent(t:event("device:s", "session.started", {}))
    t:equal(clock .. " " .. data.time_of_day .. " " .. data.day_of_week, clock .. " " .. part .. " saturday")
  end
  t:event("device:s", "profile.updated", { time_zone = "Asia/Tokyo" })
  t:at("2025-11-08T20:30:00Z")
  local tokyo = sent(t:event("device:s", "session.started", {}))
  t:equal(tokyo.time_of_day .. " " .. tokyo.day_of_week, "morning sunday")
  for _, zone in ipairs { "Mars/Olympus", 5 } do t:event("device:s", "profile.updated", { time_zone = zone }) end
  t:equal(sent(t:event("device:s", "session.started", {})).day_of_week, "sunday")
end)

test "moving to another zone does not count as a day" (function(t)
  t:at("2025-11-03T16:00:00Z")
  t:event("device:s", "settings.analytics_toggled", { enabled = true })
  t:event("device:s", "session.started", {})
  t:event("device:s", "app.opened", { launch_type = "cold_start" })
  for _, zone in ipairs { "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati" } do
    t:event("device:s", "profile.updated", { time_zone = zone })
    local data = sent(t:event("device:s", "app.opened", { launch_type = "background_resume" }))
    t:equal(data.days_since_install, 0)
    t:equal(data.days_since_last_open, 0)
  end
  t:advance("1d")
  t:event("device:s", "session.started", {})
  t:equal(sent(t:event("device:s", "app.opened", { launch_type = "cold_start" })).days_since_install, 1)
end)

test "derived properties may be left out of every report" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", {})
  t:advance("2m")
  t:equal(sent(t:event("device:s", "gamification_milestone_achieved",
    { milestone_type = "explorer", flirts_revealed_count = 10, reward_points = 100 })).days_since_install, 0)
  t:equal(sent(t:event("device:s", "analytics.track", { name = "session_ended" })).session_duration_seconds, 120)
end)

test "app.opened opens a session where none is, which counts once" (function(t)
  opted_in(t, "device:s")
  local function opened(data)
    data.launch_type = "cold_start"
    return sent(t:event("device:s", "app.opened", data)).session_id
  end
  local id = opened {}
  t:equal({ opened {}, sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id }, { id, id })
  t:equal(sent(t:event("device:s", "session.started", {})).session_id, id)
  t:equal(t:query(nil, "kpis").range.sessions, 1)
  local new = sent(t:event("device:s", "session.started", {})).session_id
  t:truthy(new ~= id)
  t:advance("31m")
  t:equal({ opened { session_id = "mine" }, opened { session_id = "other" } }, { "mine", "other" })
  t:equal(sent(t:event("device:s", "screenshot_upload_initiated", upload)).session_id, "mine")
  t:equal(sent(t:event("device:s", "session.started", { session_id = "its-own" })).session_id, "its-own")
  t:equal(t:query(nil, "kpis").range.sessions, 3)
  t:event("device:s", "session.ended", {})
  local invalid = t:event("device:s", "app.opened", { launch_type = "cold_start", session_id = "a b" })
  t:equal(invalid.decisions.violations, { { path = "session_id", kind = "value" } })
end)

test "each device of a user has a session of its own" (function(t)
  opted_in(t, "user:s")
  local function on(source, type, data) return sent(t:event("user:s", type, data, { source = source })) end
  on("vibe8/phone", "session.started", { session_id = "p" })
  t:advance("20m")
  on("vibe8/tablet", "session.started", { session_id = "t" })
  t:advance("9m")
  t:equal(on("vibe8/phone", "screenshot_upload_initiated", upload).session_id, "p")
  t:equal(on("vibe8/tablet", "screenshot_upload_initiated", upload).session_id, "t")
  t:equal(on("vibe8/phone", "session.ended", {}).session_duration_seconds, 29 * 60)
  t:equal(on("vibe8/phone", "screenshot_upload_initiated", upload), nil)
  t:equal(on("vibe8/tablet", "session.ended", {}).session_duration_seconds, 9 * 60)
end)

test "what other plugins raise belongs to the session of the event's source" (function(t)
  opted_in(t, "user:s")
  for _, source in ipairs { "vibe8/phone", "vibe8/tablet" } do
    t:event("user:s", "session.started", { session_id = source:sub(7) }, { source = source })
  end
  local outcome = t:event("user:s", "flirts.generated", { flirt_count = 3 }, { source = "vibe8/phone" })
  t:truthy(#own(outcome) > 0)
  for _, effect in ipairs(own(outcome)) do t:equal(effect.data.session_id, "phone") end
end)

test "of too many sessions the one that was quiet for longest ends" (function(t)
  t:settings { sessions_open = 2 }
  opted_in(t, "user:s")
  for _, source in ipairs { "b", "a", "b", "c" } do
    t:advance("1m")
    t:event("user:s", source == "b" and "app.opened" or "session.started", { launch_type = "cold_start" },
      { source = "vibe8/" .. source })
  end
  local open = {}
  for source in pairs(t:state("user:s").sessions) do open[#open + 1] = source end
  t:equal(open, { "vibe8/b", "vibe8/c" })
end)

test "sources of any length have sessions, and don't fill the state" (function(t)
  t:event("user:s", "settings.analytics_toggled", { enabled = true })
  for i = 1, 12 do
    local source = { source = ("x"):rep(50000) .. i }
    t:event("user:s", "session.started", { session_id = "s" .. i }, source)
    t:equal(sent(t:event("user:s", "screenshot_upload_initiated", upload, source)).session_id, "s" .. i)
  end
  for source in pairs(t:state("user:s").sessions) do t:equal(#source, 64) end
  t:event("user:s", "settings.analytics_toggled", { enabled = false })
  t:equal(t:state("user:s").consent, nil)
end)

test "a session that lasted longer than the plan allows ends with the longest duration" (function(t)
  opted_in(t, "device:s")
  t:event("device:s", "session.started", {})
  for _ = 1, 25 * 3 do
    t:advance("20m")
    t:event("device:s", "screen.viewed", {})
  end
  t:equal(sent(t:event("device:s", "session.ended", {})).session_duration_seconds, 86400)
end)

test "a session that began before the consent is not counted" (function(t)
  t:event("device:1", "app.opened", { launch_type = "cold_start" })
  t:event("device:1", "settings.analytics_toggled", { enabled = true })
  t:equal(t:event("device:1", "session.ended").decisions.accepted, true)
  local range = t:query(nil, "kpis").range
  t:equal({ range.dau, range.sessions, range.mean_session_seconds }, { 1, 0, 0 })
end)
