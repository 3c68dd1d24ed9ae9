-- Where links lead, and the files that are made from the same table.

local routes = require "routes"

local function answer(...) return { ... } end

local FLOWS = {
  home = {
    { when = { logged_in = true }, screens = { "home" } }, { when = { seen = false }, screens = { "intro" } },
    { screens = { "login", "home" } },
  },
  book = { { screens = { "book" } } },
}

local LIST = {
  { path = "/", destination = "home" }, { path = "/book/*", destination = "book" },
  { path = "/b?", destination = "book" }, { path = "/shop/*/book.*", destination = "book" },
  { path = "/café/*", destination = "book" }, { path = "/a/*/*/d+/*", destination = "book" },
}
local TABLE = routes.new(LIST, FLOWS)

test "a path leads to its destination, in any case, with the id as it is written" (function(t)
  t:each({
    { "/", "home" }, { "/book/AbC", "book", "AbC" }, { "/BOOK/AbC/d", "book", "AbC/d" }, { "/bx", "book" },
    { "/bü", "book" }, { "/shop/Berlin/book.7", "book", "Berlin" }, { "/book/" }, { "/book" }, { "/b" }, { "/bxy" },
    { "/shop/Berlin/bookx7" }, { "/x" }, { "/book/İK", "book", "İK" }, { "/shop/Berlin/book.", "book", "Berlin" },
    { "/shop//book.7" }, { "/CAFÉ/Ü", "book", "Ü" }, { "/a/b/c/d+/e", "book", "b" }, { "/a/b/c/d/e" },
  }, function(case)
    local destination, id = routes.find(TABLE, case[1])
    t:equal({ destination, id }, { case[2], case[3] })
  end)
  t:equal({ routes.is_fixed(TABLE, "/"), routes.is_fixed(TABLE, "/book/*") }, { true, false })
end)

test "a wrong route does not load, and says why" (function(t)
  local function refused(list, why) t:fails(function() routes.new(list, FLOWS) end, why) end
  refused({ { path = "book", destination = "book" } }, "'book' does not begin with /")
  refused({ { destination = "book" } }, "'nil' does not begin with /")
  refused({ { path = "/Book", destination = "book" } }, "'/Book' has capitals")
  refused({ { path = "/a", destination = "book" }, { path = "/a", destination = "home" } }, "'/a' is there twice")
  refused({ { path = "/a", destination = "bok" } }, "leads to 'bok', which has no flow")
  refused({ { path = "/b%c3%bccher", destination = "book" } }, "'/b%%c3%%bccher' is percent%-encoded")
  refused({ { path = "/a/", destination = "book" } }, "'/a/' ends in /")
  refused({ { path = "/a", destination = "book", dest = "x" } }, "'/a' has 'dest', which means nothing")
  refused({ a = "book" }, "the routes are no list")
  refused(nil, "the routes are no list")
  t:fails(function() routes.new({ { path = "a", destination = "book" } }, FLOWS, "links.json") end,
    "links.json: the route 'a'")
end)

test "a wrong flow or target does not load, and says why" (function(t)
  local function refused(flow, why) t:fails(function() routes.flows({ home = flow }, { "logged_in" }) end, why) end
  local last = { screens = { "home" } }
  refused({}, "the flow 'home' has no lines")
  refused("home", "has no lines")
  refused({ { screens = {} } }, "has a line without screens")
  refused({ { screens = "home" } }, "has a line without screens")
  refused({ { screens = { 1 } } }, "has a screen that is no text")
  refused({ { when = { logged_in = true }, screens = { "home" } } }, "ends without a line that always holds")
  refused({ last, last }, "has lines after one that always holds")
  refused({ { when = { loged_in = true }, screens = { "x" } }, last }, "asks for 'loged_in', which is none")
  refused({ { when = { logged_in = "yes" }, screens = { "x" } }, last }, "asks for 'logged_in' that is neither true")
  refused({ { wenn = { logged_in = true }, screens = { "x" } } }, "has 'wenn', which means nothing")
  refused({ { when = "logged_in", screens = { "x" } }, last }, "a 'when' that is no table of facts")
  local filled = { home = { { screens = { "home" }, prefill = true } } }
  t:equal(routes.flows(filled, nil, nil, { "prefill" }), filled)
  t:equal(routes.flows(FLOWS), FLOWS)
  t:equal(routes.flows(FLOWS, { "logged_in", "seen" }), FLOWS)
  local function no_target(targets, why) t:fails(function() routes.targets(targets, FLOWS, "links.json") end, why) end
  no_target({ bok = "plain" }, "links.json: the target 'bok' has no flow")
  no_target({ book = "ids" }, "the target 'book' is neither plain nor id")
  local function unnamed(name, kind)
    t:fails(function() routes.targets({ [name] = kind }, { [name] = FLOWS.book }) end, "can't be named: names are")
  end
  unnamed("Book", "plain")
  unnamed("Book", "id")
  unnamed("book:x", "id")
  t:equal(routes.targets({ home = "plain", book = "id" }, FLOWS), { home = "plain", book = "id" })
end)

test "a host is compared without case, port, a dot at its end and www." (function(t)
  t:each({
    { "https://Shop.Example/x", true }, { "HTTP://shop.example:8080/", true }, { "https://shop.example./", true },
    { "https://WWW.shop.example/", true }, { "https://wwwshop.example/", false }, { "ftp://shop.example/", false },
    { "https://shop.example.evil/", false }, { "https://evil/", false }, { "app:open", false },
  }, function(case) t:equal(routes.is_host(url.parse(case[1]), "shop.example"), case[2]) end)
  t:equal(routes.is_host(url.parse "https://shop.example/", "WWW.Shop.Example:443"), true)
  t:equal(routes.is_host(nil, "shop.example"), false)
  t:equal(routes.is_host({ host = "shop.example" }, "shop.example"), false)
end)

test "slashes at the end of a path don't matter" (function(t)
  t:equal({ routes.path "", routes.path "/", routes.path "//", routes.path "/a/", routes.path "/a//" },
    { "/", "/", "/", "/a", "/a" })
  t:equal(routes.path "/a/b", "/a/b")
end)

test "a target names a destination, with an id where it needs one" (function(t)
  local targets = { home = "plain", book = "id" }
  t:each({
    { "home", "home" }, { "HOME", "home" }, { "Book:AbC:d", "book", "AbC:d" }, { "book" }, { "book:" }, { "home:1" },
    { "x" }, { "x:1" },
  }, function(case)
    t:equal(answer(routes.target(targets, case[1])), { case[2], case[3] })
  end)
end)

test "the first line of a flow whose facts hold has the screens" (function(t)
  t:equal(routes.flow(FLOWS, "home", { logged_in = true, seen = false }), { "home" })
  t:equal(routes.flow(FLOWS, "home", { logged_in = false, seen = false }), { "intro" })
  t:equal(routes.flow(FLOWS, "home", { seen = true }), { "login", "home" })
  t:equal(routes.flow(FLOWS, "book", {}), { "book" })
  t:equal(routes.flow(FLOWS, "home", { logged_in = "yes" }), { "intro" })
  local _, line = routes.flow({ book = { { screens = { "book" }, more = 7 } } }, "book", {})
  t:equal(line.more, 7)
  local plans = { book = { { when = { plan = "pro", paid = true }, screens = { "book" } }, { screens = { "offer" } } } }
  t:equal(routes.flow(plans, "book", { plan = "pro", paid = true }), { "book" })
  t:equal(routes.flow(plans, "book", { plan = "pro" }), { "offer" })
end)

test "Apple's and Google's files have the paths of the table" (function(t)
  local paths, apples = {}, {}
  for i, route in ipairs(LIST) do paths[i], apples[i] = { ["/"] = route.path }, { ["/"] = route.path } end
  for _, i in ipairs { 5, 6 } do apples[i].percentEncoded = false end -- /café/*, /a/*/*/d+/*
  t:equal(routes.association(TABLE, { "A.b", "C.d" }), {
    applinks = { details = { { appIDs = { "A.b", "C.d" }, components = apples } } },
  })
  t:equal(json.encode(routes.association(TABLE, {}).applinks.details[1].appIDs), "[]")
  local opens = "delegate_permission/common.handle_all_urls"
  t:equal(routes.asset_links(TABLE, { { package = "com.a", fingerprints = { "14:6D" } } }), { {
    relation = { opens },
    target = { namespace = "android_app", package_name = "com.a", sha256_cert_fingerprints = { "14:6D" } },
    relation_extensions = { [opens] = { dynamic_app_link_components = paths } },
  } })
  t:equal(routes.asset_links(TABLE, {}), array {})
end)

local function characters(text)
  local list = {}
  for _, code in utf8.codes(text) do list[#list + 1] = utf8.char(code) end
  return list
end

-- Apple's matching, by trying everything: `*` any text, the first one of `least` characters or more, `?` one of them.
local function matches(pattern, path, least)
  pattern, path = characters(pattern), characters(path)
  local function rest(i, j, at_least)
    local wanted = pattern[i]
    if not wanted then return path[j] == nil end
    if wanted == "*" then
      for k = j + at_least, #path + 1 do
        if rest(i + 1, k, 0) then return true end
      end
      return false
    end
    return path[j] ~= nil and (wanted == "?" or wanted == path[j]) and rest(i + 1, j + 1, at_least)
  end
  return rest(1, 1, least)
end

local PIECES = { "a", "b", "é", "*", "?", "a*", "*.b", "a?b", "+", "/" }
local SEGMENTS = { "a", "B", "ab", "É", "a.b", "a+", "" }

test "what the file opens is routed, and nothing else, whatever the patterns are" (function(t)
  t:property(60, function(random)
    local function joined(pieces, most)
      local made = {}
      for i = 1, random:integer(1, most) do made[i] = random:pick(pieces) end
      return "/" .. table.concat(made, random:pick { "/", "" })
    end
    local patterns, links = random:list(4, function() return joined(PIECES, 4) end), {}
    for i = 1, 8 do links[i] = joined(SEGMENTS, 4) end
    return { patterns = patterns, links = links }
  end, function(case)
    local list, seen = {}, {}
    for _, path in ipairs(case.patterns) do
      path = routes.path(path)
      if not seen[path] then list[#list + 1] = { path = path, destination = "book" } end
      seen[path] = true
    end
    local made = routes.new(list, FLOWS)
    for _, link in ipairs(case.links) do
      local path, opened, with_id = routes.path(link), false, false
      for _, component in ipairs(routes.association(made, {}).applinks.details[1].components) do
        opened = opened or matches(component["/"], text.lower(path), 0)
        with_id = with_id or matches(component["/"], text.lower(path), 1)
      end
      t:equal(routes.opens(made, text.lower(path)), opened, path)
      t:equal(routes.find(made, path) ~= nil, with_id, path)
    end
  end)
end)
