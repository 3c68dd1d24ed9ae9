-- Settings that are wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { reprompt_days = -1 } end, "'reprompt_days' .*must be at least 0")
  t:fails(function() t:settings { url = "graph.facebook.com" } end, "'url' .*must be an http or https URL")
  t:fails(function() t:settings { pixel_id = 1.5 } end, "'pixel_id' .*digits or a text")
  t:fails(function() t:settings { facebook_sources = "facebook" } end, "'facebook_sources' .*an array of string")
end)
