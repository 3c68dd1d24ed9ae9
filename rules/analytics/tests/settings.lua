-- Settings that are wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { keep = "1.5d" } end, "'keep' .*its numbers are whole ones")
  t:fails(function() t:settings { keep = "0s" } end, "'keep' .*at least 1 seconds")
  t:fails(function() t:settings { keep = "40000d" } end, "'keep' .*at most 3155760000 seconds")
  local late = { { from = 24, name = "late" } }
  t:fails(function() t:settings { parts_of_day = late } end, "'parts_of_day%[1%].from' .*at most 23")
  local noon = { { from = 12, name = "noon" } }
  t:fails(function() t:settings { parts_of_day = noon } end, "'parts_of_day%[1%].name' .*must be one of")
  t:fails(function() t:settings { codes_a_day = 1001 } end, "'codes_a_day' .*at most 1000")
  t:fails(function() t:settings { sessions_open = 101 } end, "'sessions_open' .*at most 100")
  t:fails(function() t:settings { bins = { points = array {} } } end, "'bins.points' .*a length of at least 1")
  t:fails(function() t:settings { unknown_properties = "keep" } end, "'unknown_properties'")
  t:fails(function() t:settings { name_length = 31 } end, "'name_length' .*gamification_tutorial_step_viewed")
  t:fails(function() t:settings { keep = "a year" } end, "'keep'")
  t:fails(function() t:settings { pii = { text_length = 0 } } end, "'pii.text_length' .*must be at least 1")
  t:fails(function() t:settings { active_window_days = 93 } end, "'active_window_days' .*at most 92")
  t:fails(function() t:settings { retention_days = { -1 } } end, "'retention_days%[1%]' .*at least 1")
  t:fails(function() t:settings { retention_days = { 367 } } end, "'retention_days%[1%]' .*at most 366")
  t:fails(function() t:settings { longest_range_days = 367 } end, "'longest_range_days' .*at most 366")
  t:fails(function() t:settings { bins = { points = { 5, 1, 1 } } } end, "'bins.points' .*two are 1")
  t:fails(function() t:settings { bins = { points = { -5, 10 } } } end, "'bins.points' .*an edge is below 0")
  local digits = { pii = { card_digits = { least = 20, most = 5 } } }
  t:fails(function() t:settings(digits) end, "'pii.card_digits' .*least is greater than most")
  t:fails(function() t:settings { retention_days = { 7, 7 } } end, "'retention_days' .*two are 7")
  local morning = { { from = 5, name = "evening" }, { from = 5, name = "morning" } }
  t:fails(function() t:settings { parts_of_day = morning } end, "'parts_of_day' .*two have the from 5")
end)

test "bins that the plan does not name, and measures that nothing takes, are unknown" (function(t)
  t:fails(function() t:settings { bins = { point = { 1 } } } end, "'bins.point'; did you mean 'points'")
  t:fails(function() t:settings { pii = { card_digits = { leats = 9 } } } end, "'pii.card_digits.leats'; .*'least'")
end)

test "consent needs no more than the budget with the longest window that may be set" (function(t)
  t:settings { active_window_days = 92 }
  t:equal(t:event("user:w", "settings.analytics_toggled", { enabled = true }).decisions.accepted, true)
end)
