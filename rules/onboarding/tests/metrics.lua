-- The measures of success, out of counters alone.
test "without a sign-up there is nothing to divide by" (function(t)
  t:equal(t:query(nil, "metrics"), {
    signed_up = 0, claimed_24h = 0, claimed_7d = 0, pct_24h = json.null, pct_7d = json.null,
    mean_seconds_to_first_claim = json.null, bell_rate = json.null,
  })
end)

local function sign_up(t, ...)
  for _, user in ipairs { ... } do t:event("user:" .. user, "user.signed_in") end
end

local function claim(t, user) t:event("user:" .. user, "stamp.claim", { stamp = "welcome" }) end

test "claims count by their time since the sign-up, the limits included" (function(t)
  sign_up(t, "a", "b", "c", "d", "d")
  t:advance("24h")
  claim(t, "a")
  t:advance("1s")
  claim(t, "b")
  claim(t, "b")
  t:at("2025-01-08T00:00:01Z")
  claim(t, "c")
  sign_up(t, "e")
  claim(t, "e")
  local metrics = t:query(nil, "metrics")
  t:equal({ metrics.signed_up, metrics.claimed_24h, metrics.claimed_7d }, { 5, 2, 3 })
  t:equal({ metrics.pct_24h, metrics.pct_7d }, { 25.0, 50.0 })
  t:equal(metrics.mean_seconds_to_first_claim, (86400 + 86401 + 604801) / 4)
end)

test "a claim seven days after the sign-up counts for the week" (function(t)
  sign_up(t, "a", "b", "c")
  t:advance("7d")
  claim(t, "a")
  claim(t, "b")
  local metrics = t:query(nil, "metrics")
  t:equal({ metrics.claimed_24h, metrics.claimed_7d, metrics.pct_7d }, { 0, 2, 66.7 })
end)

test "the time to the first claim is rounded to seconds" (function(t)
  sign_up(t, "a")
  t:at(t:now() + 1.6)
  claim(t, "a")
  t:equal(t:query(nil, "metrics").mean_seconds_to_first_claim, 2.0)
end)

test "a claim of another stamp is a first claim, and none of the welcome stamp" (function(t)
  sign_up(t, "a")
  t:event("user:a", "stamp.claim", { stamp = "louvre", lat = 48.86061, lon = 2.33764 })
  local metrics = t:query(nil, "metrics")
  t:equal({ metrics.claimed_24h, metrics.claimed_7d, metrics.mean_seconds_to_first_claim }, { 0, 0, 0.0 })
end)

test "an automatic claim does not count" (function(t)
  t:settings { auto_claim_days = 0.5 }
  sign_up(t, "a")
  t:advance("1d")
  t:equal(t:query("user:a", "stamps").count, 1)
  local metrics = t:query(nil, "metrics")
  t:equal({ metrics.claimed_24h, metrics.pct_24h, metrics.pct_7d }, { 0, 0.0, json.null })
  t:equal(metrics.mean_seconds_to_first_claim, json.null)
end)

test "the first claim may be of any stamp, the percentages are of the welcome stamp" (function(t)
  sign_up(t, "a", "b", "c")
  t:advance("10s")
  t:event("user:a", "stamp.claim", { stamp = "louvre", lat = 48.86061, lon = 2.33764 })
  t:event("user:b", "stamp.claim", { stamp = "louvre" })
  t:advance("10s")
  claim(t, "a")
  t:equal(t:query(nil, "metrics").pct_24h, json.null)
  t:advance("24h")
  local metrics = t:query("user:a", "metrics")
  t:equal({ metrics.claimed_24h, metrics.mean_seconds_to_first_claim, metrics.pct_24h }, { 1, 10.0, 33.3 })
end)

test "actions before the sign-up count at the sign-up, and never exceed 100 per cent" (function(t)
  t:event("user:a", "bell.opened")
  t:event("user:b", "bell.opened")
  claim(t, "a")
  t:equal(t:query(nil, "metrics").signed_up, 0)
  t:equal(t:query(nil, "metrics").bell_rate, json.null)
  t:advance("1h")
  sign_up(t, "a", "c")
  t:event("user:a", "bell.opened")
  t:advance("1d")
  local metrics = t:query(nil, "metrics")
  t:equal({ metrics.pct_24h, metrics.bell_rate, metrics.mean_seconds_to_first_claim }, { 50.0, 50.0, 0.0 })
end)

test "the figures bear the plugin's name, and other windows have their own" (function(t)
  t:settings { claim_windows = { ["1h"] = 1 } }
  sign_up(t, "a")
  t:advance("1h")
  claim(t, "a")
  local report = t:query(nil, "metrics")
  t:equal({ report.claimed_1h, report.pct_1h }, { 1, 100 })
  local named = {}
  for _, counter in ipairs(t:counters()) do named[counter.name] = counter.value end
  t:equal({ named[plugin.name .. ".signed_up"], named[plugin.name .. ".claimed_1h"] }, { 1, 1 })
end)

test "a window that is set, or made longer, after the sign-up closes, too" (function(t)
  sign_up(t, "a", "b")
  claim(t, "a")
  t:settings { claim_windows = { ["24h"] = 48, ["30d"] = 720, third = 1 / 7 } }
  t:advance("47h")
  t:equal(t:query(nil, "metrics").pct_24h, json.null)
  t:advance("1h")
  t:equal(t:query(nil, "metrics").pct_24h, 50.0)
  t:advance("28d")
  t:equal(t:query(nil, "metrics").pct_30d, 50.0)
end)

test "the bell's rate is of users and weeks of use" (function(t)
  t:at("2025-01-06T10:00:00Z")
  sign_up(t, "a", "b")
  for _ = 1, 3 do t:event("user:a", "bell.opened") end
  t:at("2025-01-12T23:00:00Z")
  t:event("user:b", "notifications.read_all")
  t:advance("2h")
  for _, user in ipairs { "a", "b" } do t:event("user:" .. user, "notifications.read_all") end
  t:event("user:b", "user.followed", { target = "a" })
  t:equal(t:query(nil, "metrics").bell_rate, 25.0)
  t:event("user:a", "bell.opened")
  t:event("user:b", "bell.opened")
  t:equal(t:query(nil, "metrics").bell_rate, 75.0)
  t:equal(t:query(nil, "metrics", { from = "2025-01-08", to = "2025-01-09" }).bell_rate, 50.0)
  t:equal(t:query(nil, "metrics", { from = "2025-01-13" }).bell_rate, 100)
end)

test "the metrics are of those who signed up from a day to another one" (function(t)
  for _, user in ipairs { "a", "b", "c" } do
    sign_up(t, user)
    if user ~= "b" then claim(t, user) end
    t:advance("1d")
  end
  local all, first = t:query(nil, "metrics"), t:query(nil, "metrics", { from = "2025-01-01", to = "2025-01-01" })
  t:equal({ all.signed_up, all.claimed_24h, all.pct_24h }, { 3, 2, 66.7 })
  t:equal({ first.signed_up, first.claimed_24h, first.pct_24h }, { 1, 1, 100 })
  local backwards = { from = "2025-01-02", to = "2025-01-01" }
  t:fails(function() t:query(nil, "metrics", backwards) end, "`from` is after `to`")
  t:equal(t:query(nil, "metrics", { from = "2025-01-02" }).pct_24h, 50.0)
  t:fails(function() t:query(nil, "metrics", { to = "soon" }) end, "`to` is not a date")
end)

test "the metrics of a day are kept for fourteen months" (function(t)
  sign_up(t, "a")
  t:advance "425d"
  t:equal(t:query(nil, "metrics").signed_up, 1)
  t:advance "1d"
  t:equal(t:query(nil, "metrics").signed_up, 0)
end)

test "a deletion in another week leaves nothing" (function(t)
  sign_up(t, "a")
  t:advance("9d")
  t:event("user:a", "account.deleted")
  t:equal(t:state("user:a"), {})
end)
