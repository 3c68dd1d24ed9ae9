-- The websites. The links' own host serves Apple's and Google's files and redirects browsers to the store of their
-- phone. The main site redirects links with capitals or slashes at the end to the path that the app knows.

local page = require "page"
local paths = require "paths"
local routes = require "routes"

local website = {}

local ASSOCIATION = "/.well-known/apple-app-site-association"
local ASSET_LINKS = "/.well-known/assetlinks.json"

local function answer(status, content_type, body)
  return { status = status, headers = { ["content-type"] = content_type }, body = body }
end

local function file(value) return answer(200, "application/json", json.encode(value)) end

local function redirect(status, location)
  return { status = status, headers = { location = location }, body = "" }
end

--- The app's page in the store of the browser's phone; nil while no id is set.
local function store_page(request)
  local package = settings.play_store_id
  if package == "" then package = (settings.android_apps[1] or {}).package or "" end
  local is_android = (request.headers["user-agent"] or ""):find("Android", 1, true)
  if is_android and package ~= "" then return settings.play_store_url .. url.encode(package) end

  local id = settings.app_store_id
  if math.type(id) == "float" then id = string.format("%.0f", id) end
  return tostring(id):find("^%d+$") and settings.store_url .. id or nil
end

function website.app(request)
  if request.path == ASSOCIATION then return file(routes.association(paths.routes, settings.app_ids)) end
  if request.path == ASSET_LINKS and #settings.android_apps > 0 then
    return file(routes.asset_links(paths.routes, settings.android_apps))
  end
  local store = store_page(request)
  if store then return redirect(302, store) end
  return answer(200, page.content_type, page.download())
end

function website.main(request)
  local known = routes.path(request.path:lower())
  if known == request.path or not routes.is_fixed(paths.routes, known) then
    return answer(404, page.content_type, page.not_found())
  end
  local query = request.query_string or ""
  return redirect(308, query == "" and known or known .. "?" .. query)
end

return website
