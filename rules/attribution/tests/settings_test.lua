-- Settings that are wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { keep = "1.5d" } end, "'keep' .*its numbers are whole ones")
  t:fails(function() t:settings { keep = "0s" } end, "'keep' .*at least 1 seconds")
  t:fails(function() t:settings { keep = "40000d" } end, "'keep' .*at most 3155760000 seconds")
  t:fails(function() t:settings { reprompt_days = -1 } end, "'reprompt_days' .*must be at least 0")
  t:fails(function() t:settings { reprompt_days = 1e300 } end, "'reprompt_days' .*must be at most 3650")
  t:fails(function() t:settings { url = "graph.facebook.com" } end, "'url' .*must be an http or https URL")
  t:fails(function() t:settings { pixel_id = 1.5 } end, "'pixel_id' .*digits or a text")
  t:fails(function() t:settings { facebook_sources = "facebook" } end, "'facebook_sources' .*an array of string")
  t:fails(function() t:settings { reprompt_statuses = { "denyed" } } end, "'reprompt_statuses")
  t:fails(function() t:settings { platforms = { tv = { ask = 1, asks = "no" } } } end, "'platforms")
  t:fails(function() t:settings { click_ids = { gclid = true } } end, "'click_ids")
  t:fails(function() t:settings { url_bytes = 65537 } end, "'url_bytes' .*at most 65536")
  t:fails(function() t:settings { device_bytes = 4097 } end, "'device_bytes' .*at most 4096")
  local version = { ios = { extinfo = "i3x" } }
  t:fails(function() t:settings { platforms = version } end, "'platforms.ios.extinfo' .*a version is")
end)

test "sources are in lower case, and fbclid proves one of Facebook's" (function(t)
  local why = ".*compared in lower case"
  t:fails(function() t:settings { facebook_sources = { "facebook", "FB" } } end, "'facebook_sources%[2%]' " .. why)
  t:fails(function() t:settings { counted_sources = { "Google" } } end, "'counted_sources%[1%]' " .. why)
  t:fails(function() t:settings { click_ids = { gclid = "Google" } } end, "'click_ids.gclid' " .. why)
  t:fails(function() t:settings { facebook_sources = { "fb", "meta" } } end, "'click_ids.fbclid' .*does not have it")
  t:settings { facebook_sources = { "fb", "meta" }, click_ids = { fbclid = "meta" } }
end)
