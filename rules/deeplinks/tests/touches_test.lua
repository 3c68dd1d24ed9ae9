-- First and last touch, what analytics is told, and what the backend gets.

local HOST = "https://app.respirelyf.com"

local function open(t, link) return t:event("device:d", "link.opened", { url = HOST .. link }) end

local function types(outcome)
  local list = {}
  for _, effect in ipairs(outcome.effects) do list[#list + 1] = effect.sink .. " " .. effect.type end
  return list
end

local NONE = { first_touch = json.null, last_touch = json.null }

test "the first link is the first touch and the last, all later ones only the last" (function(t)
  t:at("2026-01-05T08:00:00Z")
  t:equal(open(t, "/paywall?utm_source=youtube&utm_medium=video&utm_campaign=video1").decisions.first_touch, true)
  t:advance("2d")
  local link = "/?dl_target=dashboard&utm_source=facebook&utm_medium=social&utm_campaign=jan&utm_content=a&utm_term=b"
  t:equal(open(t, link).decisions.first_touch, false)
  t:equal(t:query("device:d", "deeplinks.attribution_for_backend"), {
    first_touch = {
      source = "youtube", medium = "video", campaign = "video1", content = json.null, term = json.null,
      landing_path = "/paywall", timestamp = "2026-01-05T08:00:00.000Z",
    },
    last_touch = {
      source = "facebook", medium = "social", campaign = "jan", content = "a", term = "b",
      landing_path = "/", timestamp = "2026-01-07T08:00:00.000Z",
    },
  })
end)

test "a link without a campaign is a touch too" (function(t)
  open(t, "/Report/AbC")
  local first = t:query("device:d", "attribution_for_backend").first_touch
  t:equal({ first.source, first.landing_path }, { json.null, "/report/abc" })
end)

test "an ignored link leaves the first touch to the next one" (function(t)
  open(t, "/pricing?utm_source=x")
  t:equal(t:query("device:d", "attribution_for_backend"), NONE)
  t:equal(open(t, "/").decisions.first_touch, true)
end)

test "analytics gets each opened link, and the first touch once ever" (function(t)
  t:equal(types(open(t, "/")), { "analytics deep_link_opened", "analytics first_touch_attributed" })
  t:equal(types(open(t, "/")), { "analytics deep_link_opened" })
  t:advance("400d")
  t:equal(types(open(t, "/?utm_source=x")), { "analytics deep_link_opened" })
end)

test "both effects carry url, path and the parameters that are present, flat" (function(t)
  local link = "/PayWall/?utm_source=a&utm_medium=b&utm_campaign=c%20d&utm_content=e+f&utm_term=g"
    .. "&dl_target=Dashboard&other=1"
  local outcome = open(t, link)
  for _, effect in ipairs(outcome.effects) do
    t:equal(effect.data, {
      url = HOST .. link, path = "/paywall", utm_source = "a", utm_medium = "b", utm_campaign = "c d",
      utm_content = "e+f", utm_term = "g", dl_target = "Dashboard",
    })
  end
  t:equal(#outcome.effects, 2)
end)

test "parameters that are absent or empty are left out" (function(t)
  local link = "/?utm_source=&utm_medium"
  t:equal(open(t, link).effects[1].data, { url = HOST .. link, path = "/" })
  t:equal(t:query("device:d", "attribution_for_backend").first_touch.campaign, json.null)
end)

test "no address and no phone number leaves in a link's parameters, a campaign's id does" (function(t)
  local outcome = open(t, "/youtube?email=ada%40example.org&utm_source=ada@example.org&utm_campaign=120210000000001234"
    .. "&utm_term=0170%201234567&x=1#tel:+491701234567")
  for _, effect in ipairs(outcome.effects) do
    t:equal(effect.data, {
      url = HOST .. "/youtube?utm_campaign=120210000000001234&x=1", path = "/youtube",
      utm_campaign = "120210000000001234",
    })
  end
  t:equal(#outcome.effects, 2)
  t:equal(open(t, "/?email=ada@example.org#top").effects[1].data.url, HOST .. "/#top")
end)

test "no address and no phone number leaves in a link's path, an id does" (function(t)
  local function told(link) return t:event("device:d", "link.opened", { url = link }).effects[1].data end
  local root = { url = HOST .. "/report", path = "/report" }
  for _, id in ipairs { "Ada@example.org", "ada%40example.org", "+491701234567", "0170%201234567" } do
    t:equal(told(HOST .. "/Report/" .. id), { url = HOST .. "/Report", path = "/report" })
    t:equal(told(HOST .. "/report/" .. id .. "/?a=1"), { url = HOST .. "/report/?a=1", path = "/report" })
  end
  t:equal(told "https://ada:secret@app.respirelyf.com/report/7", { url = HOST .. "/report/7", path = "/report/7" })
  t:equal(told(HOST .. "/report/" .. ("7"):rep(2001)), root)
  local long = "/report" .. ("/1-"):rep(5000)
  t:equal(told(HOST .. long), { url = HOST .. long:sub(1, 154), path = long:sub(1, 154) })
end)

test "a link of many parameters is judged within the budget, and leaves with the first ones" (function(t)
  local outcome = open(t, "/?" .. ("1-&"):rep(5000) .. "utm_source=a")
  t:equal({ outcome.failures, outcome.effects[1].data }, {
    {}, { url = HOST .. "/?" .. ("1-&"):rep(49) .. "1-", path = "/", utm_source = "a" },
  })
end)

test "an unknown target is reported unchanged" (function(t)
  t:equal(open(t, "/?dl_target=Shop").effects[1].data.dl_target, "Shop")
end)

test "signing in decides what the backend gets" (function(t)
  t:equal(t:event("device:d", "user.authenticated", { user = "42" }).decisions, { attribution = NONE })
  open(t, "/?utm_source=x")
  local decided = t:event("device:d", "user.authenticated", { user = "42" }).decisions.attribution
  t:equal(decided, t:query("device:d", "attribution_for_backend"))
  t:equal(decided.last_touch.source, "x")
end)

test "a sign-in event on a user is ignored" (function(t)
  t:equal(t:event("user:42", "user.authenticated", {}).decisions, {})
end)

test "the backend query without a subject is empty" (function(t)
  t:equal(t:query(nil, "attribution_for_backend"), NONE)
end)

test "a repeated link event is one touch" (function(t)
  for _ = 1, 2 do t:event("device:d", "link.opened", { url = HOST .. "/" }, { id = "o1", source = "ios" }) end
  t:equal(#t:effects("device:d"), 2)
end)
