-- Where a link leads: by target, by path, by who opens it. Each route's path is held against Apple's file as well.

local HOST = "https://app.respirelyf.com"

local function open(t, link, more)
  local data = { url = link }
  for name, value in pairs(more or {}) do data[name] = value end
  return t:event("device:d", "link.opened", data)
end

local MEMBER = { logged_in = true, onboarding_seen = true }
local NEW = { logged_in = false, onboarding_seen = false }
local VISITS = { member = MEMBER, known = { logged_in = false, onboarding_seen = true }, new = NEW }

local function behind_login(screen)
  return { member = { screen }, known = { "login", screen }, new = { "login", screen } }
end

local DASHBOARD = { member = { "dashboard" }, known = { "login", "dashboard" }, new = { "onboarding" } }

--- Link, destination, id, flows, and the path when it isn't the link's.
local ROUTES = {
  { "/", "dashboard", nil, DASHBOARD },
  { "", "dashboard", nil, DASHBOARD, "/" },
  { "/paywall", "paywall", nil, behind_login "paywall" },
  { "/PayWall/", "paywall", nil, behind_login "paywall", "/paywall" },
  { "/onboarding", "dashboard", nil, DASHBOARD },
  { "/youtube", "dashboard", nil, DASHBOARD },
  { "/YouTube", "dashboard", nil, DASHBOARD, "/youtube" },
  { "/instagram", "dashboard", nil, DASHBOARD },
  { "/facebook", "dashboard", nil, DASHBOARD },
  { "/reddit", "dashboard", nil, DASHBOARD },
  { "/x", "dashboard", nil, DASHBOARD },
  { "/tiktok", "dashboard", nil, DASHBOARD },
  { "/respire-website", "dashboard", nil, DASHBOARD },
  { "/email", "dashboard", nil, DASHBOARD },
  { "/invite", "invite", nil, behind_login "invite" },
  { "/invite/", "invite", nil, behind_login "invite", "/invite" },
  { "/invite/CoDe7", "invite", "CoDe7", behind_login "invite", "/invite/code7" },
  { "/report/AbC-1", "report", "AbC-1", behind_login "report", "/report/abc-1" },
  { "/Report/AbC-1/", "report", "AbC-1", behind_login "report", "/report/abc-1" },
  { "/report/2026/week-1", "report", "2026/week-1", behind_login "report" },
  { "/insights/42", "insights", "42", behind_login "insights" },
  { "/referr/Friend", "referral", "Friend", behind_login "referral", "/referr/friend" },
}

local UNKNOWN_PATHS = {
  "/pricing", "/report", "/report/", "/insights", "/referr", "/referr/", "/paywall/now", "/youtubes", "//paywall",
  "/.well-known/apple-app-site-association", "/%FF", "/invites",
}

test "each path leads to its destination, for members, logged-out users and newcomers" (function(t)
  for _, route in ipairs(ROUTES) do
    local link, destination, id, flows, path = table.unpack(route, 1, 5)
    for who, visit in pairs(VISITS) do
      local decided = open(t, HOST .. link, visit).decisions
      t:equal(decided.destination, destination)
      t:equal(decided.flow, flows[who])
      t:equal(decided.path, path or link)
      t:equal(decided.target, id and { id = id } or nil)
      t:equal({ decided.ignored, decided.unknown_target }, {})
    end
  end
end)

test "an unknown path is ignored: no touch, no effect, nothing else decided" (function(t)
  for _, path in ipairs(UNKNOWN_PATHS) do
    local outcome = open(t, HOST .. path .. "?utm_source=x", MEMBER)
    t:equal(outcome.decisions, { destination = "none", ignored = "path" })
    t:equal(outcome.effects, {})
  end
  t:equal(t:state("device:d"), {})
end)

--- Apple's matching: `*` any run of characters, `?` one; the first component that matches wins, `exclude` refuses.
local function matches(pattern, s)
  local lua = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  return s:find("^" .. lua .. "$") ~= nil
end

local function opens_app(association, path)
  for _, detail in ipairs(association.applinks.details) do
    for _, component in ipairs(detail.components) do
      local rest = matches(component["?"] or "*", "") and matches(component["#"] or "*", "")
      if rest and matches(component["/"] or "*", path) then return not component.exclude end
    end
  end
  return false
end

test "the matcher follows Apple's rules" (function(t)
  local association = { applinks = { details = { { components = {
    { ["/"] = "/help/private/*", exclude = true }, { ["/"] = "/help/*" }, { ["/"] = "/p?" },
    { ["/"] = "/q", ["?"] = "a" },
  } } } } }
  for path, expected in pairs {
    ["/help/"] = true, ["/help/a/b"] = true, ["/help"] = false, ["/help/private/a"] = false, ["/px"] = true,
    ["/p"] = false, ["/pxy"] = false, ["/q"] = false,
  } do
    t:equal(opens_app(association, path), expected)
  end
end)

test "each route agrees with the app-site association under Apple's rules" (function(t)
  local body = t:web { host = "app.respirelyf.com", path = "/.well-known/apple-app-site-association" }.body
  local association = json.decode(body)
  for _, route in ipairs(ROUTES) do
    t:equal(opens_app(association, open(t, HOST .. route[1], NEW).decisions.path), true)
  end
  for _, path in ipairs(UNKNOWN_PATHS) do
    if path:sub(-1) ~= "/" then t:equal(opens_app(association, path), false) end
  end
end)

test "every path of the app-site association leads somewhere" (function(t)
  local body = t:web { host = "app.respirelyf.com", path = "/.well-known/apple-app-site-association" }.body
  for _, component in ipairs(json.decode(body).applinks.details[1].components) do
    local path = component["/"]:gsub("%*", "some-id")
    t:truthy(open(t, HOST .. path, NEW).decisions.destination ~= "none")
  end
end)

test "a client that sends nothing about the user has a newcomer" (function(t)
  t:equal(open(t, HOST .. "/").decisions.flow, { "onboarding" })
  t:equal(open(t, HOST .. "/paywall", { logged_in = "yes" }).decisions.flow, { "login", "paywall" })
end)

test "a link of slashes is a link like any other" (function(t)
  t:equal(open(t, HOST .. "/paywall" .. ("/"):rep(16000), MEMBER).decisions.path, "/paywall")
  t:equal(open(t, HOST .. ("/"):rep(16000) .. "x", MEMBER).decisions.ignored, "path")
  t:equal(open(t, HOST .. ("/"):rep(16000), MEMBER).decisions.path, "/")
end)
