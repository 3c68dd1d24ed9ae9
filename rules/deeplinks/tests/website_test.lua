-- The web side: Apple's file, the way to the store, and capitals.

local ASSOCIATION = "/.well-known/apple-app-site-association"
local ASSET_LINKS = "/.well-known/assetlinks.json"

local function app(t, path, query) return t:web { host = "app.respirelyf.com", path = path, query_string = query } end

local function main(t, path, query) return t:web { host = "respirelyf.com", path = path, query_string = query } end

test "the app-site association lists exactly the document's paths" (function(t)
  local response = app(t, ASSOCIATION)
  t:equal(response.status, 200)
  t:equal(response.headers, { ["content-type"] = "application/json" })
  local details = json.decode(response.body).applinks.details
  t:equal(#details, 1)
  t:equal(details[1].appIDs, { "TEAMID.com.respirelyf.app" })
  local paths = {}
  for _, component in ipairs(details[1].components) do
    t:equal(component, { ["/"] = component["/"] })
    paths[#paths + 1] = component["/"]
  end
  t:equal(paths, {
    "/", "/paywall", "/onboarding", "/invite", "/invite/*", "/report/*", "/insights/*", "/referr/*", "/youtube",
    "/instagram", "/facebook", "/reddit", "/x", "/tiktok", "/respire-website", "/email",
  })
end)

test "the app-site association is never redirected" (function(t)
  t:settings { app_store_id = "1234567890", app_ids = { "A.b", "C.d" } }
  local response = app(t, ASSOCIATION, "utm_source=x")
  t:equal(response.status, 200)
  t:equal(json.decode(response.body).applinks.details[1].appIDs, { "A.b", "C.d" })
end)

test "the asset links name the Android apps and list the same paths as Apple's file" (function(t)
  t:settings {
    app_store_id = "1234567890",
    android_apps = {
      { package = "com.a", fingerprints = { "14:6D", "AA:BB" } }, { package = "com.b", fingerprints = { "CC" } },
    },
  }
  local response = app(t, ASSET_LINKS, "utm_source=x")
  t:equal(response.status, 200)
  t:equal(response.headers, { ["content-type"] = "application/json" })
  local statements = json.decode(response.body)
  local opens_links = "delegate_permission/common.handle_all_urls"
  local components = json.decode(app(t, ASSOCIATION).body).applinks.details[1].components
  t:equal(#statements, 2)
  for index, statement in ipairs(statements) do
    t:equal(statement.relation, { opens_links })
    t:equal(statement.target.namespace, "android_app")
    t:equal(statement.target.package_name, index == 1 and "com.a" or "com.b")
    t:equal(statement.relation_extensions, { [opens_links] = { dynamic_app_link_components = components } })
  end
  t:equal(statements[1].target.sha256_cert_fingerprints, { "14:6D", "AA:BB" })
end)

test "without an Android app there are no asset links" (function(t)
  t:settings { app_store_id = "1234567890" }
  t:equal(app(t, ASSET_LINKS).status, 302)
  t:equal(main(t, ASSET_LINKS).status, 404)
end)

test "everything else goes to the App Store" (function(t)
  t:settings { app_store_id = "1234567890" }
  for _, path in ipairs { "/", "/paywall", "/nothing", "/YouTube", ASSOCIATION .. "/", "/.well-known/other" } do
    local response = app(t, path, "utm_source=x")
    t:equal(response.status, 302)
    t:equal(response.headers.location, "https://apps.apple.com/app/id1234567890")
  end
end)

test "the App Store id may be a number" (function(t)
  for _, id in ipairs { 1234567890, 1234567890.0 } do
    t:settings { app_store_id = id }
    t:equal(app(t, "/").headers.location, "https://apps.apple.com/app/id1234567890")
  end
end)

test "without an App Store id there is a page with a button" (function(t)
  local response = app(t, "/paywall")
  t:equal(response.status, 200)
  t:equal(response.headers["content-type"], "text/html; charset=utf-8")
  t:truthy(response.body:find(">Download on the App Store</a>", 1, true))
  t:truthy(response.body:find('<html lang="en">', 1, true))
  t:truthy(response.body:find("<h1>Respire LYF</h1>", 1, true))
end)

test "settings are escaped in the page" (function(t)
  t:settings { app_name = "<b>&", search_url = 'https://x/?a=1&b="%1' }
  local body = app(t, "/").body
  t:truthy(body:find("<h1>&lt;b&gt;&amp;</h1>", 1, true))
  t:truthy(body:find('href="https://x/?a=1&amp;b=&quot;%1"', 1, true))
end)

test "a path with capitals is redirected to lower case on the main site" (function(t)
  for path, lower in pairs {
    ["/YouTube"] = "/youtube", ["/INSTAGRAM"] = "/instagram", ["/PayWall"] = "/paywall", ["/X"] = "/x",
    ["/Respire-Website"] = "/respire-website", ["/Invite"] = "/invite", ["/Onboarding"] = "/onboarding",
  } do
    local response = main(t, path)
    t:equal(response.status, 308)
    t:equal(response.headers.location, lower)
  end
end)

test "the redirect keeps the query byte for byte" (function(t)
  for _, query in ipairs { "utm_source=a", "A=B&a=%2f+%zz&&x", "q=%C3%9C&Q", "?", "a=b?c=D" } do
    t:equal(main(t, "/YouTube", query).headers.location, "/youtube?" .. query)
  end
end)

test "everything else on the main site is not found" (function(t)
  for _, path in ipairs {
    "/", "/youtube", "/paywall", "/Report/AbC", "/Invite/Code", "/Invite/*", "/YouTube/", "/Pricing", "/%59ouTube", "",
    ASSOCIATION, "*",
  } do
    local response = main(t, path, "utm_source=a")
    t:equal(response.status, 404)
    t:equal(response.headers.location, nil)
  end
end)
