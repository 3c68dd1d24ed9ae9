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

-- Texts as links carry them, each sign encoded `times`.
local function encoded(written, times)
  for _ = 1, times do written = written:gsub(".", function(sign) return ("%%%02X"):format(sign:byte()) end) end
  return written
end

local ENCODED = {
  ["a dot"] = "ada@example%2Eorg", ["a full-width at"] = "ada%EF%BC%A0example.org",
  ["an at twice"] = "ada%2540example.org", ["an at four times"] = "ada%25252540example.org",
  ["a full-width percent sign"] = "ada%EF%BC%8540example.org", ["all"] = encoded("ada@example.org", 1),
  ["all twice"] = encoded("ada@example.org", 2), ["all three times"] = encoded("ada@example.org", 3),
  ["a link in a link"] = "https%3A%2F%2Fx.y%2F%3Fe%3Dada%2540example.org", ["a plus"] = "%252B491701234567",
  ["full-width digits"] = encoded("\u{FF10}\u{FF11}\u{FF17}\u{FF10} 1234567", 1),
  ["an invisible space"] = "+49170%E2%80%8B1234567", ["a soft hyphen"] = "+49170%C2%AD1234567",
  ["a mark of direction"] = "0170%E2%80%AE1234567", ["a slash"] = "030%2F1234567",
  ["a control character"] = "0170%001234567",
  ["bytes that are no text"] = ("%FF"):rep(50) .. "ada@example.org", ["more often than is looked at"] = "%252525252541",
}

test "no address and no phone number leaves however it is encoded" (function(t)
  t:each(ENCODED, function(written)
    local link = ("/report/X?X&m=X&X=1&a=%2541&utm_source=X#X"):gsub("X", (written:gsub("%%", "%%%%")))
    local outcome = open(t, link)
    t:equal(outcome.failures, {})
    t:equal(outcome.effects[1].data, { url = HOST .. "/report?a=%2541", path = "/report" })
  end)
end)

test "a link without personal data leaves as it is" (function(t)
  local longest = ("7"):rep(2000)
  for _, link in ipairs {
    "", "/?", "/?&", "/?&&", "/?a&", "/?&a", "/?a=1&&", "/?a=1&a=2&&b", "/?&&a=1&b#", "/?a?b&?c",
    "//?a=%C3%A4%FF&b=50%25#%", "/report/" .. longest .. "?" .. longest .. "=" .. longest .. "&b#" .. longest,
  } do
    t:equal(open(t, link).effects[1].data.url, HOST .. link)
  end
  t:equal(open(t, "/?utm_source=" .. longest).effects[1].data.utm_source, longest)
  for link, left in pairs {
    ["/?a=" .. longest .. "7&b"] = "/?b", ["/?" .. longest .. "7=1&b"] = "/?b", ["/#" .. longest .. "7"] = "/",
    ["/?a&&e=ada@example.org&&b"] = "/?a&&&b", ["/?e=ada@example.org&&b"] = "/?&b", ["/?e=ada@example.org"] = "/",
  } do
    t:equal(open(t, link).effects[1].data.url, HOST .. left)
  end
end)

test "a link that is encoded throughout is judged within the budget" (function(t)
  t:each({
    "%25252541", "%25252531", "%252525FF", "%FF", "%2B1", "%2525252541", "%2541&", "1%2541&", "%EF%B7%BA", "\u{FDFA}",
  }, function(piece)
    for _, link in ipairs { "/report/X", "/?X", "/?" .. ("a=X&"):rep(8) .. "utm_source=X", "/#X" } do
      local _, places = link:gsub("X", "")
      local whole = link:gsub("X", (piece:rep(16100 // places // #piece):gsub("%%", "%%%%")))
      t:equal(open(t, whole).failures, {})
    end
  end)
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
