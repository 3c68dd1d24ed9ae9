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
}
local TABLE = routes.new(LIST, FLOWS)

test "a path leads to its destination, in any case, with the id as it is written" (function(t)
  t:each({
    { "/", "home" }, { "/book/AbC", "book", "AbC" }, { "/BOOK/AbC/d", "book", "AbC/d" }, { "/bx", "book" },
    { "/bü", "book" }, { "/shop/Berlin/book.7", "book", "Berlin" }, { "/book/" }, { "/book" }, { "/b" }, { "/bxy" },
    { "/shop/Berlin/bookx7" }, { "/x" }, { "/book/İK", "book", "İK" },
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
  refused({ { path = "/*/*/*", destination = "book" } }, "more than 2")
end)

test "a host is compared without case, port and a dot at its end" (function(t)
  t:each({
    { "https://Shop.Example/x", true }, { "HTTP://shop.example:8080/", true }, { "https://shop.example./", true },
    { "ftp://shop.example/", false }, { "https://shop.example.evil/", false }, { "https://evil/", false },
    { "app:open", false },
  }, function(case) t:equal(routes.is_host(url.parse(case[1]), "shop.example"), case[2]) end)
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
  t:equal(routes.flow({ book = { { when = { a = 1, b = 2 }, screens = {} } } }, "book", { a = 1 }), nil)
end)

test "Apple's and Google's files have the paths of the table" (function(t)
  local paths = { { ["/"] = "/" }, { ["/"] = "/book/*" }, { ["/"] = "/b?" }, { ["/"] = "/shop/*/book.*" } }
  t:equal(routes.association(TABLE, { "A.b", "C.d" }), {
    applinks = { details = { { appIDs = { "A.b", "C.d" }, components = paths } } },
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

test "the file opens the app where the routes lead somewhere, by Apple's rules" (function(t)
  t:each({ { "/", true }, { "/book/", true }, { "/book", false }, { "/bx", true }, { "/bxy", false }, { "/c", false } },
    function(case) t:equal(routes.opens(TABLE, case[1]), case[2]) end)
  t:property(60, function(random)
    local path = {}
    for i = 1, random:integer(1, 5) do path[i] = random:pick { "book", "b", "shop", "x", "book.1", "bü", "B" } end
    return "/" .. table.concat(path, "/")
  end, function(path)
    t:equal(routes.opens(TABLE, text.lower(path)), routes.find(TABLE, path) ~= nil)
  end)
end)
