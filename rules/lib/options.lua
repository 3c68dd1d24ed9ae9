-- The options that a rule passes to a module of the library: a value that makes no sense is one sentence that names the
-- option. `rulectl check` finds those that a module does not have, so modules read each by its name.

local options = {}

local function is_number(value) return type(value) == "number" and value >= 0 and value < math.huge end

local function is_whole(value) return is_number(value) and value % 1 == 0 end

-- A kind of option: gives the words for what it must be, for a value that is not so.
local function kind(words, holds)
  return function(value) return not holds(value) and words or nil end
end

--- Kinds of options; `kind(words, holds)` makes others, where `holds(value)` says whether a value is of it.
options.kind   = kind
options.count  = kind("a whole number, 0 or more", is_whole)
options.some   = kind("a whole number above 0", function(value) return is_whole(value) and value > 0 end)
options.amount = kind("a number, 0 or more", is_number)
options.length = kind("a number above 0", function(value) return is_number(value) and value > 0 end)
options.part   = kind("a part of the people, from 0 to 1", function(value) return is_number(value) and value <= 1 end)
options.zone   = kind("a time zone", function(value) return type(value) == "string" and calendar.known(value) end)
options.text   = kind("a text", function(value) return type(value) == "string" and value ~= "" end)
options.table  = kind("a table", function(value) return type(value) == "table" end)

--- Refuses a value that is not of a kind.
function options.need(module, name, value, is)
  local words = is(value)
  if words then error(("%s: `%s` is %s"):format(module, name, words), 0) end
end

--- The same of an option that may be missing.
function options.may(module, name, value, is)
  if value ~= nil then options.need(module, name, value, is) end
end

return options
