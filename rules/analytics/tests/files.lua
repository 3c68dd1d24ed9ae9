-- The files plan.json and figures.json, where they make no sense together.
local derive   = require "derive"
local measures = require "measures"
local people   = require "people"

test "what nothing derives is no derived property" (function(t)
  local function check(key) derive.check { book_read = { [key] = { type = "int", derived = true } } } end
  for _, key in ipairs { "days_since_install", "session_id", "screens_visited" } do check(key) end
  t:fails(function() check "pages" end, "plan.json: book_read.pages: nothing derives it")
end)

test "a figure that the plugin has itself, or that is there already, does not load" (function(t)
  local function refused(file, why) t:fails(function() measures.read(file) end, "figures.json: " .. why) end
  local users = { sum = "dau" }
  for _, name in ipairs { "dau", "wau", "sessions", "retention", "errors", "error_impact", "day", "from" } do
    refused({ key_figures = { [name] = users } }, "key_figures." .. name .. ": there is another figure of that name")
  end
  local ladder = { event = "gamification_tier_unlocked", property = "tier_unlocked" }
  refused({ ladders = { dau = ladder } }, "ladders.dau: there is another figure")
  local twice = { ladders = { users = ladder }, key_figures = { users = users } }
  refused(twice, "key_figures.users: there is another figure")
  refused({ counts = { app_opened = { { figure = "dau" } } } }, "counts.app_opened.dau: the plugin counts that itself")
end)

test "a figure of what may be missing, or is of another type, does not load" (function(t)
  local function refused(group, of)
    t:fails(function() measures.read { [group] = of } end, "figures.json: " .. group)
  end
  local function level(property, step)
    return { x = { event = "gamification_tier_unlocked", property = property, steps = { step }, step = "day_" } }
  end
  t:equal(measures.read { levels = level("current_streak", 1) }.levels, level("current_streak", 1))
  refused("levels", level("tier_unlocked", 1))
  refused("levels", level("flirts_revealed_count", 1))
  refused("levels", level("current_streak", "a"))
  refused("levels", level("current_streak", 0))
  refused("ladders", { x = { event = "gamification_tutorial_completed", property = "skipped" } })
  refused("ladders", { x = { event = "screenshot_upload_failed", property = "session_id" } })
  refused("ladders", { x = { event = "screenshot_upload_failed", property = "error_code" } })
  refused("counts", { gamification_points_awarded = { { figure = "points", sum = "total_points_after" } } })
  refused("errors", { event = "screenshot_upload_failed", type = "error_code", code = "retry_attempt" })
end)

test "a figure of a value that no report has does not load" (function(t)
  local function refused(file, why) t:fails(function() measures.read(file) end, "figures.json: " .. why) end
  local function where(event, values) return { counts = { [event] = { { figure = "x", where = values } } } } end
  local function off(value)
    return { switches = { x = { event = "settings_gamification_toggled", property = "new_state", off = value } } }
  end
  refused(where("app_opened", { launch_type = "cold" }), 'counts.app_opened.x: app_opened.launch_type is never "cold"')
  refused(where("gamification_tutorial_completed", { skipped = "false" }), "counts.*skipped is never \"false\"")
  refused(where("gamification_points_awarded", { total_points_after = 100 }), "counts.*total_points_after is never 100")
  refused(off "off", 'switches.x: settings_gamification_toggled.new_state is never "off"')
  refused(off(nil), "switches.x: settings_gamification_toggled.new_state is never null")
  measures.read(where("gamification_points_awarded", { total_points_after = "0-100", action = "a_rule's own" }))
  measures.read(off "enabled")
end)

test "an event in session_counts is one of the plan, or one that users cause" (function(t)
  local function read(types) return measures.read { session_counts = { screens_visited = types } } end
  read { "screen.viewed", "flirt.copied", "app_opened" }
  for _, type in ipairs { "screen.viewd", "screen_viewed", "xscreen.viewed", "flirts" } do
    t:fails(function() read { type } end, "session_counts.screens_visited: '" .. type .. "': the plan has no")
  end
  t:fails(function() read "screen.viewed" end, "session_counts.screens_visited: it is no list of events")
  local visits = { session_counts = { screens_visitd = { "screen.viewed" } } }
  t:fails(function() measures.read(visits) end, "session_counts.screens_visitd: the plan has no derived property")
end)

test "a mean and a share are of a list of figures" (function(t)
  for _, of in ipairs { { mean = "dau", of = "dau" }, { pct = "dau" }, { pct = "dau", of = {} } } do
    t:fails(function() measures.read { key_figures = { x = of } } end, "key_figures.x: 'of' is no list of figures")
  end
end)

test "the steps of a ladder of numbers are texts" (function(t)
  local counts = { event = "gamification_milestone_achieved", property = "flirts_revealed_count" }
  t:equal(people.steps(counts), { "10", "50", "100" })
end)

test "the steps of a level rise, since a lower one after a higher one would never count" (function(t)
  local level = { event = "gamification_streak_updated", property = "new_streak", steps = { 1, 7, 3 }, step = "day_" }
  t:fails(function() measures.read { levels = { streaks = level } } end, "levels.streaks: the steps don't rise")
end)

test "a figure with a member that is none does not load" (function(t)
  local function refused(file, why) t:fails(function() measures.read(file) end, "figures.json: " .. why) end
  local ladder = { event = "gamification_tier_unlocked", property = "tier_unlocked", step = "x" }
  refused({ key_figure = {} }, "the file: there is no 'key_figure'")
  refused({ ladders = { x = ladder } }, "ladders.x: there is no 'step'")
  refused({ counts = { app_opened = { { figure = "x", were = {} } } } }, "counts.app_opened.x: there is no 'were'")
  refused({ key_figures = { x = { mean = "dau", off = { "dau" } } } }, "key_figures.x: there is no 'off'")
  local switch = { event = "settings_gamification_toggled", property = "new_state", of = "disabled" }
  refused({ switches = { x = switch } }, "switches.x: there is no 'of'")
  local errors = { event = "error_displayed", type = "error_type", code = "error_code", of = "dau", off = "dau" }
  refused({ errors = errors }, "errors: there is no 'off'")
end)
