-- The web side: Apple's file, the way to the store, and links that are written otherwise.

local ASSOCIATION = "/.well-known/apple-app-site-association"
local ASSET_LINKS = "/.well-known/assetlinks.json"
local PRINT, OTHER = ("14:6D:"):rep(15) .. "14:6D", ("AA:BB:"):rep(15) .. "AA:BB"

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
      { package = "com.a", fingerprints = { PRINT, OTHER } }, { package = "com.b", fingerprints = { PRINT } },
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
  t:equal(statements[1].target.sha256_cert_fingerprints, { PRINT, OTHER })
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

local function browser(t, user_agent)
  local headers = { ["user-agent"] = user_agent }
  return t:web { host = "app.respirelyf.com", path = "/paywall", headers = headers }.headers.location
end

local PIXEL = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36"
local IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148"
local APPLE = "https://apps.apple.com/app/id1"

test "Android browsers go to the Play store, where one is set" (function(t)
  local android_apps = { { package = "com.a", fingerprints = { PRINT } } }
  t:each({
    neither = { {}, APPLE },
    id = { { play_store_id = "com.b" }, "https://play.google.com/store/apps/details?id=com.b" },
    app = { { android_apps = android_apps }, "https://play.google.com/store/apps/details?id=com.a" },
    both = {
      { android_apps = android_apps, play_store_id = "com.b", play_store_url = "https://store.example/" },
      "https://store.example/com.b",
    },
  }, function(case)
    case[1].app_store_id = "1"
    t:settings(case[1])
    t:equal({ browser(t, PIXEL), browser(t, IPHONE) }, { case[2], APPLE })
    local is_file = app(t, ASSET_LINKS).headers["content-type"] == "application/json"
    t:equal(is_file, case[1].android_apps ~= nil)
  end)
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

local PAGE = {
  language = "de", title = "{name} laden", heading = "Zu {name}", text = "Im Browser nicht.", button = "Zum Store",
  missing_title = "Leer – {name}", missing_heading = "Hier ist nichts", missing_text = "Kein <Buch> & kein {name}.",
}

test "the texts of the pages are settings" (function(t)
  t:settings { app_name = "Bücher", page = PAGE }
  local download, missing = app(t, "/").body, main(t, "/").body
  for _, text in ipairs {
    '<html lang="de">', "<title>Bücher laden</title>", "<h1>Zu Bücher</h1>", "<p>Im Browser nicht.</p>",
    ">Zum Store</a>",
  } do
    t:truthy(download:find(text, 1, true), text)
  end
  for _, text in ipairs {
    "<title>Leer – Bücher</title>", "<h1>Hier ist nichts</h1>", "<p>Kein &lt;Buch&gt; &amp; kein Bücher.</p>",
  } do
    t:truthy(missing:find(text, 1, true), text)
  end
end)

test "settings are escaped in the page" (function(t)
  t:settings { app_name = "<b>&", search_url = 'https://x/?a=1&b="%1' }
  local body = app(t, "/").body
  t:truthy(body:find("<h1>&lt;b&gt;&amp;</h1>", 1, true))
  t:truthy(body:find('href="https://x/?a=1&amp;b=&quot;%1"', 1, true))
end)

test "a path with capitals or slashes at its end is redirected to the app's path on the main site" (function(t)
  for path, lower in pairs {
    ["/YouTube"] = "/youtube", ["/INSTAGRAM"] = "/instagram", ["/PayWall"] = "/paywall", ["/X"] = "/x",
    ["/youtube/"] = "/youtube", ["/PayWall//"] = "/paywall",
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
    "/", "/youtube", "/paywall", "/Report/AbC", "/Invite/Code", "/Invite/*", "/youtube/x", "/Pricing", "/%59ouTube",
    ASSOCIATION, "*",
  } do
    local response = main(t, path, "utm_source=a")
    t:equal(response.status, 404)
    t:equal(response.headers.location, nil)
  end
end)

test "www. reaches the same pages" (function(t)
  for _, host in ipairs { "app.respirelyf.com", "respirelyf.com" } do
    for _, path in ipairs { "/", "/YouTube/", "/paywall", ASSOCIATION } do
      t:equal(t:web { host = "www." .. host, path = path }, t:web { host = host, path = path })
    end
  end
end)

test "a product without a main site has none" (function(t)
  t:settings { main_host = "" }
  t:equal(app(t, ASSOCIATION).status, 200)
  t:fails(function() main(t, "/YouTube") end, "no plugin")
end)
