-- Reports of a plan: which events there are, with which properties, and how a given report violates it. A property
-- has a `type`, and `values`, a range `min` to `max`, a `form` or `bins`; it may be `optional`.

local bins = require "bins"
local fields = require "fields"
local pii = require "pii"

local reports = {}

--- A plan from the events of a data file: `options` are `name_length`, `violations_listed`, `bins` (upper edges by
--- name) and `pii`.
function reports.new(events, options)
  local plan = { events = events, names = {}, options = options, bins = {} }
  for name in pairs(events) do plan.names[#plan.names + 1] = name end
  for name, edges in pairs(options.bins) do plan.bins[name] = bins.new(edges) end
  return plan
end

-- A number beyond 64 bits is not whole: it could not leave as an integer.
local function whole(value) return type(value) == "number" and math.tointeger(value) ~= nil end

local is_a = {
  string = function(value) return type(value) == "string" end,
  bool   = function(value) return type(value) == "boolean" end,
  int    = whole,
  double = function(value) return type(value) == "number" end,
}

-- Allowed forms of strings for which the plan lists no values.
local forms = {
  id     = function(_, text) return text:find("^[%w_.:-]+$") ~= nil end,
  word   = function(plan, text) return #text <= plan.options.name_length and text:find("^%l[%l%d_]*$") ~= nil end,
  screen = function(_, text) return text:find("^[%w_./:-]+$") ~= nil end,
}

-- Forms in which several words are free text, which may say anything about a person.
local one_word = { word = true, screen = true }

local function violation_of_form(plan, form, text)
  if forms[form](plan, text) then return nil end
  return one_word[form] and text:find("%S%s+%S") and "pii" or "value"
end

-- Whether the plan lists exactly this value.
local function permitted(plan, of, value)
  if of.bins then return bins.has(plan.bins[of.bins], value) end
  return of.values ~= nil and fields.is_one_of(value, of.values)
end

local function violation_of_binned(value)
  if type(value) == "string" then return "value" end
  if not whole(value) then return "type" end
  return value < 0 and "range" or nil
end

-- The kind of a property's violation, or nil: personal data before type, type before list and range.
local function violation(plan, of, value, looking)
  if value == nil or value == json.null then return not of.optional and "missing" or nil end
  if permitted(plan, of, value) then return nil end
  if pii.in_value(plan.options.pii, value, looking) then return "pii" end
  if of.bins then return violation_of_binned(value) end
  if not is_a[of.type](value) then return "type" end
  if of.values then return "value" end
  if of.form then return violation_of_form(plan, of.form, value) end
  if of.min and value < of.min or of.max and value > of.max then return "range" end
  return nil
end

--- Lower-case words with underscores, no longer than the plan allows.
function reports.good_name(plan, name)
  return type(name) == "string" and #name <= plan.options.name_length and name:find("^%l[%l%d_]*$") ~= nil
end

--- The properties that the plan has for an event, and the first of the others: further ones would not be listed.
function reports.listed(plan, of, properties)
  local all, others = {}, 0
  for key in pairs(of) do all[key] = properties[key] end
  for key, value in pairs(properties) do
    if of[key] == nil then
      all[key] = value
      others = others + 1
      if others > plan.options.violations_listed then break end
    end
  end
  return all
end

local function is_map(value) return type(value) == "table" and #value == 0 end

-- A property's name may itself be personal data, which must not be repeated; the violation then names the event only.
local function path_of(plan, key)
  local is_plain = #key <= plan.options.name_length and key:find("^[%w_.-]+$")
  return is_plain and not pii.in_string(plan.options.pii, key) and key or ""
end

local function kind_of_unknown(options, key, value, looking)
  return (pii.in_name(options, key) or pii.in_value(options, value, looking)) and "pii" or "unknown_property"
end

--- The violations in order of path: an array of {path, kind}, empty if there are none. `properties` are those listed.
function reports.violations(plan, name, properties)
  if not reports.good_name(plan, name) then return { { path = "", kind = "name" } } end
  local known = plan.events[name]
  if not known then return { { path = "", kind = "unknown_event" } } end
  if not is_map(properties) then return { { path = "", kind = "type" } } end
  local found, looking = {}, pii.looking(plan.options.pii)
  for key, rule_of in pairs(known) do
    local kind = violation(plan, rule_of, properties[key], looking)
    if kind then found[#found + 1] = { path = key, kind = kind } end
  end
  for key, value in pairs(properties) do
    if not known[key] and value ~= json.null then
      found[#found + 1] = { path = path_of(plan, key), kind = kind_of_unknown(plan.options.pii, key, value, looking) }
    end
  end
  table.sort(found, function(a, b) return a.path < b.path or (a.path == b.path and a.kind < b.kind) end)
  for i = #found, plan.options.violations_listed + 1, -1 do found[i] = nil end
  return found
end

--- The properties as they are sent: an exact count as its bin, a whole number as an integer.
function reports.leaving(plan, of, properties)
  local out = {}
  for key, one in pairs(of) do
    local value = properties[key]
    if value ~= nil and value ~= json.null then
      if one.bins and type(value) ~= "string" then value = bins.of(plan.bins[one.bins], value) end
      out[key] = one.type == "int" and math.tointeger(value) or value
    end
  end
  return out
end

return reports
