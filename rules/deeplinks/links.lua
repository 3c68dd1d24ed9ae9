-- A link was opened: whether it is ours, where it leads, and what the plugin stores and reports.

local fields = require "fields"
local paths = require "paths"
local routes = require "routes"
local utm = require "utm"

local links = {}

local PARAMETERS = { settings.target_parameter, table.unpack(utm.names) }

local function ignore(reason)
  decide("destination", "none")
  decide("ignored", reason)
end

local function report(link, path, parameters, first_touch)
  local properties = utm.told_members(parameters)
  local told, head = utm.told_link(link)
  if told ~= link then path = text.lower(routes.path(url.parse(head).path)) end
  properties.url, properties.path = told, path
  emit("analytics", "deep_link_opened", properties)
  if first_touch then emit("analytics", "first_touch_attributed", properties) end
end

-- A known target wins over the path.
local function destination_of(target, path)
  if target then
    local destination, id = routes.target(paths.targets, target)
    if destination then return destination, id end
  end
  local destination, id = routes.find(paths.routes, path)
  return destination, id, target
end

function links.opened(event, state)
  local data = fields.data(event)
  local link = fields.text(data.url, settings.url_bytes)
  local parsed = link and url.parse(link)
  if not routes.is_host(parsed, settings.host) then return ignore("host") end

  local parameters = utm.read(parsed.query or {}, PARAMETERS, settings.url_bytes)
  local path = routes.path(parsed.path)
  local destination, id, unknown = destination_of(parameters[settings.target_parameter], path)
  if not destination then return ignore("path") end

  path = text.lower(path)
  local first_touch = utm.touch(state, now(), parameters, path)
  decide("destination", destination)
  decide("flow", (routes.flow(paths.flows, destination, data)))
  decide("path", path)
  decide("first_touch", first_touch)
  if id then decide("target", { id = id }) end
  if unknown then decide("unknown_target", unknown) end
  report(link, path, parameters, first_touch)
end

return links
