-- The websites. The links' own host serves Apple's and Google's files and redirects browsers to the App Store. The
-- main site redirects links with capitals to lower case.

local routes = require "routes"
local page = require "page"

local website = {}

local ASSOCIATION = "/.well-known/apple-app-site-association"
local ASSET_LINKS = "/.well-known/assetlinks.json"
local OPENS_LINKS = "delegate_permission/common.handle_all_urls"

local function answer(status, content_type, body)
  return { status = status, headers = { ["content-type"] = content_type }, body = body }
end

local function redirect(status, location)
  return { status = status, headers = { location = location }, body = "" }
end

--- The paths that open the app, in the form that Apple and Google share.
local function components()
  local paths = array {}
  for _, route in ipairs(routes.list) do paths[#paths + 1] = { ["/"] = route.path } end
  return paths
end

--- Apple's app-site association file, made from the routes.
local function association()
  local app_ids = array {}
  for _, id in ipairs(settings.app_ids) do app_ids[#app_ids + 1] = id end
  return { applinks = { details = { { appIDs = app_ids, components = components() } } } }
end

--- Google's file for App Links, made from the routes. Android 15 and later reads the paths in it, earlier versions
--- those in the app.
local function asset_links()
  local statements = array {}
  for _, app in ipairs(settings.android_apps) do
    local fingerprints = array {}
    for _, fingerprint in ipairs(app.fingerprints) do fingerprints[#fingerprints + 1] = fingerprint end
    statements[#statements + 1] = {
      relation = array { OPENS_LINKS },
      target = { namespace = "android_app", package_name = app.package, sha256_cert_fingerprints = fingerprints },
      relation_extensions = { [OPENS_LINKS] = { dynamic_app_link_components = components() } },
    }
  end
  return statements
end

--- The app's page in the App Store; nil while no id is set.
local function store_page()
  local id = settings.app_store_id
  if math.type(id) == "float" then id = string.format("%.0f", id) end
  id = tostring(id)
  return id:find("^%d+$") and settings.store_url .. id or nil
end

function website.app(request)
  if request.path == ASSOCIATION then return answer(200, "application/json", json.encode(association())) end
  if request.path == ASSET_LINKS and #settings.android_apps > 0 then
    return answer(200, "application/json", json.encode(asset_links()))
  end
  local store = store_page()
  if store then return redirect(302, store) end
  return answer(200, page.content_type, page.download(settings.app_name, settings.search_url))
end

function website.main(request)
  local lower = request.path:lower()
  if lower == request.path or not routes.is_fixed(lower) then
    return answer(404, page.content_type, page.not_found(settings.app_name))
  end
  local query = request.query_string or ""
  return redirect(308, query == "" and lower or lower .. "?" .. query)
end

return website
