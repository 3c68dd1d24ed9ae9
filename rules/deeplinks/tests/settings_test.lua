-- Settings that are wrong.
test "a setting that can't be right is refused" (function(t)
  for _, id in ipairs { "abc", "12 34", "123/../x", 1.5 } do
    t:fails(function() t:settings { app_store_id = id } end, "'app_store_id' .*an id is digits")
  end
  t:fails(function() t:settings { host = "https://app.example.com" } end, "'host' .*must be the name of a host")
  t:fails(function() t:settings { main_host = settings.host } end, "'main_host' .*host is the same")
  t:fails(function() t:settings { main_host = "www." .. settings.host } end, "'main_host' .*host is the same")
  t:fails(function() t:settings { url_bytes = 32769 } end, "'url_bytes' .*at most 32768")
  t:fails(function() t:settings { page = { title = 7 } } end, "'page")
  t:fails(function() t:settings { page = { titel = "x" } } end, "'page.titel'; did you mean 'title'")
  t:fails(function() t:settings { search_url = "apps.apple.com" } end, "'search_url' .*must be an http or https URL")
  local bare = { { package = "a" } }
  t:fails(function() t:settings { android_apps = bare } end, "'android_apps%[1%].fingerprints' .*is missing")
  t:fails(function() t:settings { app_ids = { "nonsense" } } end, "'app_ids%[1%]' .*an id is TEAMID")
  for _, print in ipairs { "AA:BB", ("AA:"):rep(32) .. "AA" } do
    local apps = { { package = "a.b", fingerprints = { print } } }
    t:fails(function() t:settings { android_apps = apps } end, "fingerprints%[1%]' .*a fingerprint is 32 bytes")
  end
end)
