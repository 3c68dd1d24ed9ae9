-- Routes: which link leads where, through which screens, and the files that tell Apple and Google of the same paths.
--
-- In a pattern `*` is any text and `?` one character, as in Apple's file. The text for the first `*` is the id that
-- the destination needs.

local fields = require "fields"

local routes = {}

local OPENS_LINKS = "delegate_permission/common.handle_all_urls"
local SLASH = ("/"):byte()
local TARGETS = { plain = true, id = true }
local ROUTE = { "path", "destination" }
local NAMED = "names are compared in lower case, and a colon ends one with an id"

local function refuse(file, what, problem) error((file and file .. ": " or "") .. what .. " " .. problem, 0) end

-- A part of a pattern as a regular expression, by Apple's rules, in which a `*` may be nothing.
local function expression(part)
  return (part:gsub("[\\^$.|()%[%]{}+]", "\\%0"):gsub("%*", ".*"):gsub("%?", "."))
end

-- A regular expression for a pattern's paths in the app: the text for the first `*` is a group, and never empty.
local function compiled(path)
  local before, after = path:match("^([^*]*)%*(.*)$")
  if not before then return "(?s)^" .. expression(path) .. "$" end
  return "(?s)^(" .. expression(before) .. ")(.+)" .. expression(after) .. "$"
end

local function unknown_in(of, names)
  local unknown = type(of) == "table" and fields.unknown(of, names)
  return unknown and "has '" .. unknown .. "', which means nothing" or nil
end

local function problem_of_line(line, is_last, facts)
  if not fields.is_list(line.screens) then return "has a line without screens" end
  for _, screen in ipairs(line.screens) do
    if type(screen) ~= "string" then return "has a screen that is no text" end
  end
  if line.when ~= nil and type(line.when) ~= "table" then return "has a 'when' that is no table of facts" end
  if not line.when and not is_last then return "has lines after one that always holds" end
  if line.when and is_last then return "ends without a line that always holds" end
  for name, value in pairs(facts and line.when or {}) do
    if not fields.is_one_of(name, facts) then return "asks for '" .. name .. "', which is none of its facts" end
    if type(value) ~= "boolean" then return "asks for '" .. name .. "' that is neither true nor false" end
  end
end

--- Flows, `{ [name] = { { when, screens }, … } }`. To be called at load, which a wrong flow refuses: one without a line
--- that always holds at its end, and there only, or with a `when` that asks for none of `facts`, the names of facts, if
--- these are given. A line may have other members, if they are among `more`.
function routes.flows(flows, facts, file, more)
  local members = { "when", "screens", table.unpack(more or {}) }
  for name, lines in pairs(flows) do
    local what = "the flow '" .. name .. "'"
    if not fields.is_list(lines) then refuse(file, what, "has no lines") end
    for i, line in ipairs(lines) do
      local problem = unknown_in(line, members) or problem_of_line(line, i == #lines, facts)
      if problem then refuse(file, what, problem) end
    end
  end
  return flows
end

local function problem_of(route, flows, seen)
  local path = route.path
  if type(path) ~= "string" or path:sub(1, 1) ~= "/" then return "does not begin with /" end
  if path ~= text.lower(path) then return "has capitals; links are compared in lower case" end
  if path:find("%%%x%x") then return "is percent-encoded; links are compared as they read" end
  if path ~= routes.path(path) then return "ends in /; links are compared without it" end
  if seen[path] then return "is there twice" end
  if not flows[route.destination] then return "leads to '" .. tostring(route.destination) .. "', which has no flow" end
end

--- A table of routes from a list of `{ path, destination }`. To be called at load, which a wrong route refuses: a path
--- that is there twice, or a destination without a flow.
function routes.new(list, flows, file)
  local made, seen = { list = list, fixed = {}, patterns = {} }, {}
  if type(list) ~= "table" or next(list) and not fields.is_list(list) then refuse(file, "the routes", "are no list") end
  for _, route in ipairs(list) do
    local path, problem = route.path, problem_of(route, flows, seen) or unknown_in(route, ROUTE)
    if problem then refuse(file, "the route '" .. tostring(path) .. "'", problem) end
    seen[path] = true
    if path:find("[*?]") then
      made.patterns[#made.patterns + 1] = { pattern = compiled(path), destination = route.destination }
    else
      made.fixed[path] = route.destination
    end
  end
  return made
end

--- The targets of a link's parameter: `plain` for a destination, `id` for one that is written like report:<id>. To be
--- called at load, which refuses a target without a flow, or one that no parameter can name.
function routes.targets(targets, flows, file)
  for name, kind in pairs(targets) do
    local what = "the target '" .. name .. "'"
    if not flows[name] then refuse(file, what, "has no flow") end
    if not TARGETS[kind] then refuse(file, what, "is neither plain nor id") end
    local written = kind == "id" and name .. ":1" or name
    if routes.target(targets, written) ~= name then refuse(file, what, "can't be named: " .. NAMED) end
  end
  return targets
end

--- A host as it is compared: in lower case, without a port, a dot at its end, and `www.`.
function routes.host(name)
  return (text.lower(name):gsub(":%d*$", ""):gsub("%.$", ""):gsub("^www%.", ""))
end

--- Whether a parsed link is one of the web and of that host, however both are written.
function routes.is_host(parsed, host)
  local scheme = parsed and parsed.host and text.lower(parsed.scheme or "")
  return (scheme == "http" or scheme == "https") and routes.host(parsed.host) == routes.host(host)
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
  local lower = text.lower(path)
  local destination = made.fixed[lower]
  if destination then return destination end
  if #lower ~= #path then lower = path:lower() end -- places in it are places in the path
  for _, route in ipairs(made.patterns) do
    local found, _, before, id = text.find_re(lower, route.pattern)
    if found then return route.destination, id and path:sub(#before + 1, #before + #id) end
  end
  return nil
end

--- The destination that a target names, without regard to case, and its id as it is written. Nil for an unknown one, or
--- without the id.
function routes.target(targets, target)
  local plain = text.lower(target)
  if targets[plain] == "plain" then return plain end
  local name, id = target:match("^([^:]*):(.+)$")
  name = name and text.lower(name)
  if targets[name] == "id" then return name, id end
  return nil
end

-- A fact that nobody told is false.
local function holds(when, facts)
  for name, value in pairs(when) do
    local fact = facts[name]
    if type(value) == "boolean" then fact = fact == true end
    if fact ~= value then return false end
  end
  return true
end

--- The screens that lead to a destination, of the first line of its flow whose `when` holds for the facts; and that
--- line.
function routes.flow(flows, destination, facts)
  for _, line in ipairs(flows[destination]) do
    if not line.when or holds(line.when, facts) then return line.screens, line end
  end
end

-- The paths that open the app, in the form that Apple and Google share.
local function components(made)
  local paths = array {}
  for _, route in ipairs(made.list) do paths[#paths + 1] = { ["/"] = route.path } end
  return paths
end

--- Apple's app-site association file. Apple compares percent-encoded paths unless it is told not to.
function routes.association(made, app_ids)
  local paths = components(made)
  for _, component in ipairs(paths) do
    if component["/"]:find("[^%w/._~*?-]") then component.percentEncoded = false end
  end
  return { applinks = { details = { { appIDs = array { table.unpack(app_ids) }, components = paths } } } }
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

--- Whether Apple's file opens the app for a path: for tests that hold the routes against the file.
function routes.opens(made, path)
  for _, component in ipairs(components(made)) do
    if text.find_re(path, "(?s)^" .. expression(component["/"]) .. "$") then return true end
  end
  return false
end

return routes
