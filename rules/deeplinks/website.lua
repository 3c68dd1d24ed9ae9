-- The websites. The links' own host serves Apple's file and redirects browsers to the App Store. The main site
-- redirects links with capitals to lower case.

local routes = require "routes"
local page = require "page"

local website = {}

local ASSOCIATION = "/.well-known/apple-app-site-association"

local function answer(status, content_type, body)
  return { status = status, headers = { ["content-type"] = content_type }, body = body }
end

local function redirect(status, location)
  return { status = status, headers = { location = location }, body = "" }
end

--- Apple's app-site association file, made from the routes.
local function association()
  local components = array {}
  for _, route in ipairs(routes.list) do components[#components + 1] = { ["/"] = route.path } end
  local app_ids = array {}
  for _, id in ipairs(settings.app_ids) do app_ids[#app_ids + 1] = id end
  return { applinks = { details = { { appIDs = app_ids, components = components } } } }
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
