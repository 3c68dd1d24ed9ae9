-- Routes: which link leads where, through which screens, and the files that tell Apple and Google of the same paths.
--
-- In a pattern `*` is any text and `?` one character, as in Apple's file. What stands for the first `*` is the id that
-- the destination needs.

local routes = {}

local OPENS_LINKS = "delegate_permission/common.handle_all_urls"
local SLASH = ("/"):byte()
local MOST_STARS = 2 -- each makes matching slower by the length of the path

-- A pattern as Lua has it; `some` is what a `*` stands for.
local function compiled(path, some)
  local pattern = path:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", some):gsub("%?", utf8.charpattern)
  return "^" .. pattern .. "$"
end

local function problem_of(route, flows, seen)
  local path = route.path
  if type(path) ~= "string" or path:sub(1, 1) ~= "/" then return "does not begin with /" end
  if path ~= text.lower(path) then return "has capitals; links are compared in lower case" end
  if seen[path] then return "is there twice" end
  if select(2, path:gsub("%*", "")) > MOST_STARS then return "has more than " .. MOST_STARS .. " *" end
  if not flows[route.destination] then return "leads to '" .. tostring(route.destination) .. "', which has no flow" end
end

--- A table of routes from a list of `{ path, destination }`. To be called at load, which a wrong route refuses: a path
--- that is there twice, or a destination without a flow.
function routes.new(list, flows)
  local made, seen = { list = list, fixed = {}, patterns = {} }, {}
  for _, route in ipairs(list) do
    local path, problem = route.path, problem_of(route, flows, seen)
    if problem then error("the route '" .. tostring(path) .. "' " .. problem, 0) end
    seen[path] = true
    if path:find("[*?]") then
      local pattern = compiled(path, ".+"):gsub("%.%+", "()%0()", 1)
      made.patterns[#made.patterns + 1] = { pattern = pattern, destination = route.destination }
    else
      made.fixed[path] = route.destination
    end
  end
  return made
end

--- Whether a parsed link is one of the web and of that host, without regard to case, port and a dot at the end.
function routes.is_host(parsed, host)
  local scheme = parsed and parsed.host and text.lower(parsed.scheme or "")
  if scheme ~= "http" and scheme ~= "https" then return false end
  return text.lower(parsed.host):gsub(":%d*$", ""):gsub("%.$", "") == host
end

--- A path without slashes at its end; "/" for an empty one.
function routes.path(path)
  -- A pattern would try each of many slashes as the first of the last.
  local last = #path
  while last > 1 and path:byte(last) == SLASH do last = last - 1 end
  return path == "" and "/" or path:sub(1, last)
end

--- Whether this is one of the paths without a pattern.
function routes.is_fixed(made, path) return made.fixed[path] ~= nil end

--- The destination of a path, without regard to case, and the id as it is written; nil for an unknown path.
function routes.find(made, path)
  local destination = made.fixed[text.lower(path)]
  if destination then return destination end
  local lower = path:lower() -- of the same length, so that places in it are places in the path
  for _, route in ipairs(made.patterns) do
    local found, _, first, past = lower:find(route.pattern)
    if found then return route.destination, first and path:sub(first, past - 1) end
  end
  return nil
end

--- The destination that a target names, without regard to case, and its id as it is written. `targets` has `plain` for
--- a destination, and `id` for one that is written like report:<id>. Nil for an unknown one, or without the id.
function routes.target(targets, target)
  local plain = text.lower(target)
  if targets[plain] == "plain" then return plain end
  local name, id = target:match("^([^:]*):(.+)$")
  name = name and text.lower(name)
  if targets[name] == "id" then return name, id end
  return nil
end

local function holds(when, facts)
  for name, value in pairs(when) do
    if facts[name] ~= value then return false end
  end
  return true
end

--- The screens that lead to a destination: of the first line of its flow whose `when` holds for the facts.
function routes.flow(flows, destination, facts)
  for _, line in ipairs(flows[destination]) do
    if not line.when or holds(line.when, facts) then return line.screens end
  end
end

-- The paths that open the app, in the form that Apple and Google share.
local function components(made)
  local paths = array {}
  for _, route in ipairs(made.list) do paths[#paths + 1] = { ["/"] = route.path } end
  return paths
end

--- Apple's app-site association file.
function routes.association(made, app_ids)
  return { applinks = { details = { { appIDs = array { table.unpack(app_ids) }, components = components(made) } } } }
end

--- Google's file for App Links, for `{ package, fingerprints }` of each app. Android 15 and later reads the paths
--- in it, earlier versions those in the app.
function routes.asset_links(made, apps)
  local statements = array {}
  for _, app in ipairs(apps) do
    statements[#statements + 1] = {
      relation = array { OPENS_LINKS },
      target = {
        namespace = "android_app", package_name = app.package,
        sha256_cert_fingerprints = array { table.unpack(app.fingerprints) },
      },
      relation_extensions = { [OPENS_LINKS] = { dynamic_app_link_components = components(made) } },
    }
  end
  return statements
end

--- Whether Apple's file opens the app for a path, by Apple's rules, in which a `*` may be nothing: for tests that hold
--- the routes against the file.
function routes.opens(made, path)
  for _, component in ipairs(components(made)) do
    if path:find(compiled(component["/"], ".*")) then return true end
  end
  return false
end

return routes
