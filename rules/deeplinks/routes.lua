-- The paths of the links. This one table routes in the app, makes Apple's app-site association file, and tells the
-- website which paths to redirect to lower case. New marketing channels use query parameters, not new paths.

local routes = {}

--- `*` is the id that the destination needs.
routes.list = {
  { path = "/", destination = "dashboard" },
  { path = "/paywall", destination = "paywall" },
  { path = "/onboarding", destination = "dashboard" },
  { path = "/invite", destination = "invite" },
  { path = "/invite/*", destination = "invite" },
  { path = "/report/*", destination = "report" },
  { path = "/insights/*", destination = "insights" },
  { path = "/referr/*", destination = "referral" },
  { path = "/youtube", destination = "dashboard" },
  { path = "/instagram", destination = "dashboard" },
  { path = "/facebook", destination = "dashboard" },
  { path = "/reddit", destination = "dashboard" },
  { path = "/x", destination = "dashboard" },
  { path = "/tiktok", destination = "dashboard" },
  { path = "/respire-website", destination = "dashboard" },
  { path = "/email", destination = "dashboard" },
}

local fixed, prefixes = {}, {}
for _, route in ipairs(routes.list) do
  if route.path:sub(-1) == "*" then
    prefixes[#prefixes + 1] = { prefix = route.path:sub(1, -2), destination = route.destination }
  else
    fixed[route.path] = route
  end
end

--- Whether this is exactly one of the paths without an id.
function routes.is_fixed(path) return fixed[path] ~= nil end

--- The destination of a path, ignoring case, and the id in it as written; nil for an unknown path.
function routes.find(path)
  local lower = text.lower(path)
  if fixed[lower] then return { destination = fixed[lower].destination } end
  for _, route in ipairs(prefixes) do
    local length = #route.prefix
    if #path > length and text.lower(path:sub(1, length)) == route.prefix then
      return { destination = route.destination, id = path:sub(length + 1) }
    end
  end
  return nil
end

return routes
