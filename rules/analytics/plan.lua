-- The plan: which events exist, and how a given event violates it.

local pii      = require "pii"
local property = require "property"

local events = data("plan.json").events

local plan = { events = events, names = {} }
for name in pairs(events) do plan.names[#plan.names + 1] = name end

--- The names of the plan, and further types of events.
function plan.and_also(types)
  local all = {}
  for _, name in ipairs(plan.names) do all[#all + 1] = name end
  for _, name in ipairs(types) do all[#all + 1] = name end
  return all
end

--- Lower-case words with underscores, no longer than the plan allows.
function plan.good_name(name)
  return type(name) == "string" and #name <= settings.name_length and name:find("^%l[%l%d_]*$") ~= nil
end

--- The properties that the plan has for an event, and the first of the others: further ones would not be listed.
function plan.listed(of, properties)
  local all, others = {}, 0
  for key in pairs(of) do all[key] = properties[key] end
  for key, value in pairs(properties) do
    if of[key] == nil then
      all[key] = value
      others = others + 1
      if others > settings.violations_listed then break end
    end
  end
  return all
end

local function is_map(value) return type(value) == "table" and #value == 0 end

-- A property's name may itself be personal data, which must not be repeated; the violation then names the event only.
local function path_of(key)
  return (#key <= settings.name_length and key:find("^[%w_.-]+$") and not pii.in_string(key)) and key or ""
end

local function kind_of_unknown(key, value, looking)
  return (pii.in_name(key) or pii.in_value(value, looking)) and "pii" or "unknown_property"
end

--- The violations in order of path: an array of {path, kind}, empty if there are none. `properties` are those listed.
function plan.violations(name, properties)
  if not plan.good_name(name) then return { { path = "", kind = "name" } } end
  local known = events[name]
  if not known then return { { path = "", kind = "unknown_event" } } end
  if not is_map(properties) then return { { path = "", kind = "type" } } end
  local found, looking = {}, pii.looking()
  for key, rule_of in pairs(known) do
    local kind = property.violation(rule_of, properties[key], looking)
    if kind then found[#found + 1] = { path = key, kind = kind } end
  end
  for key, value in pairs(properties) do
    if not known[key] and value ~= json.null then
      found[#found + 1] = { path = path_of(key), kind = kind_of_unknown(key, value, looking) }
    end
  end
  table.sort(found, function(a, b) return a.path < b.path or (a.path == b.path and a.kind < b.kind) end)
  for i = #found, settings.violations_listed + 1, -1 do found[i] = nil end
  return found
end

return plan
