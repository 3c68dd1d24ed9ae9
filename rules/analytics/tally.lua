-- Adds an accepted report to the figures of its day.

local board = require "board"

-- For each event: the figure, the property whose value is added (default 1), and the values that are required to count.
local adds = {
  session_started                 = { { "sessions" } },
  session_ended                   = { { "sessions_ended" }, { "session_seconds", of = "session_duration_seconds" } },
  gamification_flirt_revealed     = { { "revealed" } },
  gamification_flirt_copied       = { { "copied" } },
  gamification_tutorial_completed = { { "tutorial_completed", where = { skipped = false } } },
  gamification_tutorial_skipped   = { { "tutorial_skipped" } },
  screenshot_upload_initiated     = { { "requests" } },
  screenshot_upload_success       = { { "uploads_succeeded" }, { "upload_ms", of = "upload_duration_ms" } },
  screenshot_upload_failed        = { { "uploads_failed" } },
  screenshot_analysis_started     = { { "requests" } },
  screenshot_analysis_completed   = { { "analyses_completed" } },
  screenshot_analysis_failed      = { { "analyses_failed" } },
  flirt_generation_started        = { { "requests" } },
  flirt_generation_completed      = { { "sets" }, { "flirts", of = "flirt_count" } },
  flirt_generation_failed         = { { "generations_failed" } },
  settings_analytics_toggled      = { { "analytics_disabled", where = { new_state = "disabled" } } },
  settings_data_deleted           = { { "data_deleted" } },
}

local function holds(where, properties)
  for key, value in pairs(where or {}) do
    if properties[key] ~= value then return false end
  end
  return true
end

--- Counts a report; `first_error` when it is the first error of its session.
return function(name, properties, first_error)
  local today = calendar.day(now(), "UTC")
  for _, add in ipairs(adds[name] or {}) do
    if holds(add.where, properties) then board.add(add[1], today, add.of and properties[add.of]) end
  end
  if name == "error_displayed" then
    board.add("errors", today, 1, { type = properties.error_type, code = properties.error_code })
  end
  if first_error then board.add("sessions_with_errors", today) end
end
