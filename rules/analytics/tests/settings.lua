-- Settings that are wrong.
test "a setting that can't be right is refused" (function(t)
  local late = { { from = 24, name = "late" } }
  t:fails(function() t:settings { parts_of_day = late } end, "'parts_of_day%[1%].from' .*at most 23")
  t:fails(function() t:settings { bins = { points = array {} } } end, "'bins.points' .*a length of at least 1")
  t:fails(function() t:settings { unknown_properties = "keep" } end, "'unknown_properties'")
  t:fails(function() t:settings { keep = "a year" } end, "'keep'")
  t:fails(function() t:settings { pii = { text_length = 0 } } end, "'pii.text_length' .*must be at least 1")
end)
