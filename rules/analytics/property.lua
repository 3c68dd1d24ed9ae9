-- Checks one property against the plan, and converts it for sending.

local bins = require "bins"
local pii  = require "pii"

local property = {}

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
  id     = function(text) return text:find("^[%w_.:-]+$") ~= nil end,
  word   = function(text) return #text <= settings.name_length and text:find("^%l[%l%d_]*$") ~= nil end,
  screen = function(text) return text:find("^[%w_./:-]+$") ~= nil end,
}

-- Forms in which several words are free text, which may say anything about a person.
local one_word = { word = true, screen = true }

local function violation_of_form(form, text)
  if forms[form](text) then return nil end
  return one_word[form] and text:find("%S%s+%S") and "pii" or "value"
end

local function listed(values, value)
  for _, one in ipairs(values) do
    if one == value then return true end
  end
  return false
end

-- Whether the plan lists exactly this value.
local function permitted(of, value)
  if of.bins then return type(value) == "string" and bins.is_bin(of.bins, value) end
  return of.values ~= nil and listed(of.values, value)
end

local function violation_of_binned(value)
  if type(value) == "string" then return "value" end
  if not whole(value) then return "type" end
  return value < 0 and "range" or nil
end

--- The kind of violation, or nil: personal data before type, type before list and range. `looking` is of `pii`.
function property.violation(of, value, looking)
  if value == nil or value == json.null then return not of.optional and "missing" or nil end
  if permitted(of, value) then return nil end
  if pii.in_value(value, looking) then return "pii" end
  if of.bins then return violation_of_binned(value) end
  if not is_a[of.type](value) then return "type" end
  if of.values then return "value" end
  if of.form then return violation_of_form(of.form, value) end
  if of.min and value < of.min or of.max and value > of.max then return "range" end
  return nil
end

--- The value as it is sent: an exact count as its bin, a whole number as an integer.
function property.leaving(of, value)
  if of.bins then return bins.of(of.bins, value) end
  if of.type == "int" then return math.tointeger(value) end
  return value
end

return property
