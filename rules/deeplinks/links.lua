-- A link was opened: whether it is ours, where it leads, what is stored and reported.

local fields = require "fields"
local utm = require "utm"
local routes = require "routes"
local destinations = require "destinations"
local touches = require "touches"

local links = {}

local SLASH = ("/"):byte()
local SCHEMES = { http = true, https = true }

local function is_ours(parsed)
  if not parsed or not parsed.host or not SCHEMES[text.lower(parsed.scheme or "")] then return false end
  local host = text.lower(parsed.host):gsub(":%d*$", ""):gsub("%.$", "")
  return host == settings.host
end

--- The path without trailing slashes, "/" if empty. A pattern would try each of many slashes as the first of the last.
local function path_of(parsed)
  local path = parsed.path
  local last = #path
  while last > 1 and path:byte(last) == SLASH do last = last - 1 end
  return path == "" and "/" or path:sub(1, last)
end

--- The known parameters that are present: the campaign's and `dl_target`.
local function parameters_of(parsed)
  local present = {}
  for name, value in pairs(parsed.query or {}) do present[name] = fields.text(value, settings.url_bytes) end
  local parameters = utm.present(present)
  parameters.dl_target = present.dl_target
  return parameters
end

local function ignore(reason)
  decide("destination", "none")
  decide("ignored", reason)
end

local function report(link, path, parameters, first_touch)
  local properties = { url = link, path = path }
  for name, value in pairs(parameters) do properties[name] = value end
  emit("analytics", "deep_link_opened", properties)
  if first_touch then emit("analytics", "first_touch_attributed", properties) end
end

function links.opened(event, state)
  local data = fields.data(event)
  local link = fields.text(data.url, settings.url_bytes)
  local parsed = link and url.parse(link)
  if not is_ours(parsed) then return ignore("host") end

  local path = path_of(parsed)
  local parameters = parameters_of(parsed)
  local target = parameters.dl_target
  local by_target = target and destinations.of_target(target)
  local found = by_target or routes.find(path)
  if not found then return ignore("path") end

  path = text.lower(path)
  local first_touch = touches.record(state, parameters, path)
  local visit = { logged_in = data.logged_in == true, onboarding_seen = data.onboarding_seen == true }
  decide("destination", found.destination)
  decide("flow", destinations.flow(found.destination, visit))
  decide("path", path)
  decide("first_touch", first_touch)
  if found.id then decide("target", { id = found.id }) end
  if target and not by_target then decide("unknown_target", target) end
  report(link, path, parameters, first_touch)
end

return links
