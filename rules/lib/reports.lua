-- Reports of a plan: which events there are, with which properties, and how a given report violates it. A property
-- has a `type`, and `values`, a range `min` to `max`, a `form` or `bins`; it may be `optional`, `derived`, or `open`,
-- which lets reports that rules make have other values than the listed ones.

local bins = require "bins"
local fields = require "fields"
local pii = require "pii"

local reports = {}

-- The name for an error's code or type that is none.
local OTHER = "other"

local whole = fields.whole

local is_a = {
  string = function(value) return type(value) == "string" end,
  bool   = function(value) return type(value) == "boolean" end,
  int    = whole,
  double = function(value) return type(value) == "number" end,
}

local function is_word(text) return text:find("^[%w_.:-]+$") ~= nil end

local function is_code(plan, text) return #text <= plan.options.name_length and is_word(text) end

-- Allowed forms of strings for which the plan lists no values. A code of another form leaves as `other`.
local forms = {
  id     = is_word,
  code   = function() return true end,
  screen = function(text) return text:find("^[%w_./:-]+$") ~= nil end,
}

-- The members of a property, and the types of properties that may have them, if not all may.
local members = {
  type     = { is = "string" },
  values   = { is = "table" },
  min      = { is = "number", of = { "int", "double" } },
  max      = { is = "number", of = { "int", "double" } },
  form     = { is = "string", of = { "string" } },
  bins     = { is = "string", of = { "int", "double", "string" } },
  optional = { is = "boolean" },
  derived  = { is = "boolean" },
  open     = { is = "boolean" },
}

local function check_members(place, of)
  for name, value in pairs(of) do
    local member = members[name]
    assert(member, place .. ": there is no '" .. name .. "' of a property")
    assert(type(value) == member.is, place .. ": '" .. name .. "' is no " .. member.is)
    local is_allowed = not member.of or fields.is_one_of(of.type, member.of)
    assert(is_allowed, place .. ": '" .. name .. "' makes no sense of " .. of.type)
  end
end

local function check(plan, place, of)
  assert(is_a[of.type], place .. ": there is no type '" .. tostring(of.type) .. "'")
  check_members(place, of)
  assert(not of.form or forms[of.form], place .. ": there is no form '" .. tostring(of.form) .. "'")
  assert(not of.bins or plan.bins[of.bins], place .. ": there are no bins '" .. tostring(of.bins) .. "'")
  assert(not of.min or not of.max or of.min <= of.max, place .. ": 'min' is above 'max'")
  local is_empty = of.type == "int" and of.min and of.max and math.ceil(of.min) > math.floor(of.max)
  assert(not is_empty, place .. ": no int is from 'min' to 'max'")
  assert(not of.values or of.values[1] ~= nil, place .. ": 'values' lists none")
  for _, value in ipairs(of.values or {}) do
    assert(is_a[of.type](value), place .. ": the value " .. json.encode(value) .. " is no " .. of.type)
  end
end

--- Lower-case words with underscores, no longer than the plan allows.
function reports.good_name(plan, name)
  return type(name) == "string" and #name <= plan.options.name_length and name:find("^%l[%l%d_]*$") ~= nil
end

--- A plan from the events of a data file, which are checked: `options` are `name_length`, `violations_listed`, `bins`
--- (upper edges by name), `pii`, and `unknown_properties`: "drop" or "refuse".
function reports.new(file, events, options)
  local plan = { events = events, names = {}, options = options, bins = {} }
  for name, edges in pairs(options.bins) do plan.bins[name] = bins.new(edges) end
  for name, of in pairs(events) do
    assert(reports.good_name(plan, name), file .. ": '" .. name .. "' is no name of an event")
    plan.names[#plan.names + 1] = name
    for key, one in pairs(of) do check(plan, file .. ": " .. name .. "." .. key, one) end
  end
  return plan
end

--- Whether a text is an id. Digits alone are one, and no phone number.
function reports.is_id(plan, text)
  if type(text) ~= "string" or not is_word(text) then return false end
  return #text <= plan.options.name_length and not text:find("%D") or not pii.in_string(plan.options.pii, text)
end

-- Whether a text can't tell anything about a person: an id, a negative code, or one that leaves as `other`.
local function is_harmless(plan, of, value)
  if type(value) ~= "string" then return false end
  if of.form == "id" then return reports.is_id(plan, value) end
  return of.form == "code" and (#value > plan.options.name_length or value:find("^%-%d+$") ~= nil)
end

-- A screen of several words is free text, which may say anything about a person.
local function violation_of_form(form, text)
  if forms[form](text) then return nil end
  return form == "screen" and text:find("%S%s+%S") and "pii" or "value"
end

-- Whether the plan lists exactly this value.
local function permitted(plan, of, value)
  if of.bins then return bins.has(plan.bins[of.bins], value) end
  return of.values ~= nil and fields.is_one_of(value, of.values)
end

-- Counts of rules may be fractions, such as points times 1.5.
local function violation_of_binned(value, by_rules)
  if type(value) == "string" then return "value" end
  if not (whole(value) or by_rules and type(value) == "number") then return "type" end
  return value < 0 and "range" or nil
end

-- A text that the plan has leaves as it is, so a long one is as bad as personal data.
local function is_personal(options, value, looking)
  if type(value) == "string" then return pii.in_string(options, value) end
  return pii.in_value(options, value, looking)
end

-- The kind of a property's violation, or nil: personal data before type, type before list and range.
local function violation(plan, of, value, looking, by_rules)
  if value == nil or value == json.null then return not of.optional and "missing" or nil end
  if permitted(plan, of, value) or is_harmless(plan, of, value) then return nil end
  if is_personal(plan.options.pii, value, looking) then return "pii" end
  if of.bins then return violation_of_binned(value, by_rules) end
  if not is_a[of.type](value) then return "type" end
  if of.open and by_rules then return nil end
  if of.values then return "value" end
  if of.form then return violation_of_form(of.form, value) end
  if of.min and value < of.min or of.max and value > of.max then return "range" end
  return nil
end

--- Whether a report may leave with that value of a property: with a bin, where the plan has bins.
function reports.may_leave(plan, of, value)
  if of.bins then return permitted(plan, of, value) end
  return value ~= nil and violation(plan, of, value, pii.looking(plan.options.pii), true) == nil
end

-- A code that is a whole number as its text; one that may be somebody's as `other`.
local function code_of(plan, value)
  local number = whole(value)
  if not number then return value end
  local code = tostring(number)
  return number >= 0 and pii.in_string(plan.options.pii, code) and OTHER or code
end

--- The properties that the plan has for an event, with codes as texts, and the first of the others: further ones would
--- not be listed.
function reports.listed(plan, of, properties)
  local all, others = {}, 0
  for key, one in pairs(of) do
    local value = properties[key]
    all[key] = one.form == "code" and code_of(plan, value) or value
  end
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

-- A property's name may itself tell of a person: an id, a date, what they wrote. Only a name as in programs, without a
-- long number, is repeated; else the violation names the event only.
local function path_of(plan, key)
  return #key <= plan.options.name_length and key:find("^[%a_-][%w_-]*$") and not key:find("%d%d%d") and key or ""
end

local function kind_of_unknown(options, key, value, looking)
  return (pii.in_name(options, key) or pii.in_value(options, value, looking)) and "pii" or "unknown_property"
end

local function of_event(kind) return { { path = "", kind = kind } }, true end

-- Whether the report is refused for it: a property that the plan does not have may also be dropped.
local function refuses(plan, kind) return kind ~= "unknown_property" or plan.options.unknown_properties == "refuse" end

--- The violations in order of path: an array of {path, kind}, empty if there are none; and whether the report is
--- refused for them. `properties` are those listed, `by_rules` tells that a rule made the report.
function reports.violations(plan, name, properties, by_rules)
  if not reports.good_name(plan, name) then return of_event "name" end
  local known = plan.events[name]
  if not known then return of_event "unknown_event" end
  if not is_map(properties) then return of_event "type" end
  local found, looking, is_refused = {}, pii.looking(plan.options.pii), false
  for key, of in pairs(known) do
    local kind = violation(plan, of, properties[key], looking, by_rules)
    if kind then found[#found + 1] = { path = key, kind = kind } end
  end
  for key, value in pairs(properties) do
    if not known[key] and value ~= json.null then
      found[#found + 1] = { path = path_of(plan, key), kind = kind_of_unknown(plan.options.pii, key, value, looking) }
    end
  end
  for _, one in ipairs(found) do is_refused = is_refused or refuses(plan, one.kind) end
  table.sort(found, function(a, b) return a.path < b.path or (a.path == b.path and a.kind < b.kind) end)
  for i = #found, plan.options.violations_listed + 1, -1 do found[i] = nil end
  return found, is_refused
end

local function leaving(plan, of, value)
  if of.bins and type(value) ~= "string" then return bins.of(plan.bins[of.bins], value) end
  if of.form == "code" and not is_code(plan, value) then return OTHER end
  return of.type == "int" and whole(value) or value
end

--- The properties as they are sent: an exact count as its bin, a whole number as an integer, no code as `other`.
function reports.leaving(plan, of, properties)
  local out = {}
  for key, one in pairs(of) do
    local value = properties[key]
    if value ~= nil and value ~= json.null then out[key] = leaving(plan, one, value) end
  end
  return out
end

return reports
