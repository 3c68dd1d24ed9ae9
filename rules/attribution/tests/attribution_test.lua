-- The first launch: a link's facts about an install, and the decisions on them.

local LINK = "https://discovery.ozma.io/go-app/the-boss?"

local function launch(t, link, more)
  local data = { platform = "web", url = link }
  for name, value in pairs(more or {}) do data[name] = value end
  return t:event("device:d", "app.launched", data).decisions
end

local function attribution(t, query) return launch(t, LINK .. query).attribution end

test "the first launch keeps every parameter of the link and the time" (function(t)
  t:at("2025-11-10T12:34:56.789Z")
  local link = LINK .. "fbclid=IwAR1234aBc&utm_source=facebook&utm_medium=cpc&utm_campaign=install"
  local decided = launch(t, link .. "&utm_content=ad_1&utm_term=focus&email=User@Example.com&appUserId=u-7")
  t:equal(decided.attribution, {
    fbclid = "IwAR1234aBc", utm_source = "facebook", utm_medium = "cpc", utm_campaign = "install",
    utm_content = "ad_1", utm_term = "focus", email = "User@Example.com", appUserId = "u-7",
    installedAt = "2025-11-10T12:34:56.789Z",
  })
  t:equal(decided.first_launch, true)
  t:equal(decided.facebook_attribution, true)
end)

local NOTHING = {
  fbclid = json.null, utm_source = json.null, utm_medium = json.null, utm_campaign = json.null, utm_content = json.null,
  utm_term = json.null, email = json.null, appUserId = json.null, installedAt = "2025-11-10T00:00:00.000Z",
}

test "an install without a link is stored too, all null" (function(t)
  t:at("2025-11-10T00:00:00Z")
  local decided = launch(t, nil)
  t:equal(decided.attribution, NOTHING)
  t:equal(decided.facebook_attribution, false)
  t:equal(launch(t, nil).first_launch, false)
end)

test "a link that can't be parsed has no attribution" (function(t)
  t:at("2025-11-10T00:00:00Z")
  for i, link in ipairs { "", "not a link", 7, { fbclid = "x" }, true } do
    local outcome = t:event("device:" .. i, "app.launched", { platform = "ios", url = link })
    t:equal(outcome.decisions.attribution, NOTHING)
  end
end)

test "empty parameters are null" (function(t)
  t:at("2025-11-10T00:00:00Z")
  t:equal(attribution(t, "fbclid=&utm_source=&email=&appUserId"), NOTHING)
end)

test "a link of any scheme is parsed" (function(t)
  local link = "exp+boss-app://expo-development-client/?url=http://localhost:8081&fbclid=test123&utm_source=facebook"
  local parsed = launch(t, link .. "&email=test@example.com").attribution
  t:equal(parsed.fbclid, "test123")
  t:equal(parsed.email, "test@example.com")
end)

test "values are percent-decoded once" (function(t)
  t:equal(attribution(t, "utm_campaign=a%2520b%26c").utm_campaign, "a%20b&c")
end)

test "a plus stays a plus" (function(t)
  t:equal(attribution(t, "utm_campaign=a+b&email=me+tag@example.com").email, "me+tag@example.com")
end)

test "a malformed percent sign is left unchanged" (function(t)
  t:equal(attribution(t, "utm_campaign=100%&utm_term=%zz").utm_campaign, "100%")
  t:equal(launch(t, nil).attribution, nil)
end)

test "of a repeated parameter the first counts" (function(t)
  t:equal(attribution(t, "fbclid=first&fbclid=second").fbclid, "first")
end)

test "keys are case-sensitive" (function(t)
  local parsed = attribution(t, "FBCLID=x&Utm_Source=facebook&appuserid=u")
  t:equal({ parsed.fbclid, parsed.utm_source, parsed.appUserId }, { json.null, json.null, json.null })
end)

test "percent escapes that do not decode to UTF-8 are left unchanged" (function(t)
  t:equal(attribution(t, "utm_campaign=%FF%FE").utm_campaign, "%FF%FE")
end)

test "a value over the limit is dropped" (function(t)
  t:settings { value_bytes = 8 }
  local parsed = attribution(t, "fbclid=123456789&utm_source=12345678")
  t:equal({ parsed.fbclid, parsed.utm_source }, { json.null, "12345678" })
end)

test "a link over the limit has no attribution, however its bytes are written" (function(t)
  t:settings { url_bytes = #LINK + 20 }
  t:equal(attribution(t, "fbclid=" .. ("x"):rep(13)).fbclid, ("x"):rep(13))
  t:equal(t:event("device:e", "app.launched", { platform = "web", url = LINK .. "fbclid=" .. ("x"):rep(14) }).decisions
    .attribution.fbclid, json.null)
end)

test "a megabyte of escapes costs nothing" (function(t)
  t:equal(attribution(t, "fbclid=x&utm_term=" .. ("%F0%9F%98"):rep(110000)).fbclid, json.null)
end)

local function facebook(t, device, query)
  local data = { platform = "web", url = LINK .. query }
  return t:event("device:" .. device, "app.launched", data).decisions.facebook_attribution
end

test "a click id, or Facebook as the source in any case, is attribution to Facebook" (function(t)
  t:equal(facebook(t, "a", "fbclid=x"), true)
  t:equal(facebook(t, "b", "utm_source=FaceBook"), true)
  t:equal(facebook(t, "c", "fbclid=x&utm_source=google"), true)
end)

test "neither a click id nor Facebook as the source is not Facebook's" (function(t)
  t:equal(facebook(t, "a", "fbclid=&utm_source=google"), false)
  t:equal(facebook(t, "b", "utm_source=facebook.com"), false)
  t:equal(facebook(t, "c", "utm_medium=facebook"), false)
end)

test "the sources that are Facebook's are a setting" (function(t)
  t:settings { facebook_sources = { "facebook", "instagram" } }
  t:equal(facebook(t, "a", "utm_source=Instagram"), true)
end)

test "click ids are settings, with the source that each proves" (function(t)
  t:settings { click_ids = { fbclid = "facebook", gclid = "google" } }
  t:equal(attribution(t, "gclid=Cj0&fbclid=").gclid, "Cj0")
  t:equal({ facebook(t, "a", "gclid=Cj0"), facebook(t, "b", "gclid=Cj0&utm_source=facebook") }, { false, true })
  t:equal(t:query(nil, "installs").installs[2].source, "google")
end)

test "installs are those of the days that a query asks for, and are kept for fourteen months" (function(t)
  for i, day in ipairs { "2025-11-01", "2025-11-02", "2025-11-03" } do
    t:at(day .. "T12:00:00Z")
    facebook(t, i, "utm_source=google")
  end
  local function days(args) return #t:query(nil, "installs", args).installs end
  t:equal({ days(), days { from = "2025-11-02" }, days { from = "2025-11-02", to = "2025-11-02" } }, { 3, 2, 1 })
  t:fails(function() days { to = "soon" } end, "`to` is not a date")
  t:fails(function() days { from = "2025-11-02", to = "2025-11-01" } end, "`from` is after `to`")
  t:advance "425d"
  t:equal(days(), 1)
end)

test "a later launch keeps the first attribution whatever its link says" (function(t)
  launch(t, LINK .. "utm_source=google")
  local decided = launch(t, LINK .. "fbclid=x")
  t:equal(decided.facebook_attribution, false)
  t:equal(decided.first_launch, false)
  t:equal(decided.attribution, nil)
end)
