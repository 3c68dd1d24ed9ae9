-- Reads fields of an event's data by type; a field of another type is nil. Clients may send anything: a rule that reads
-- its fields through these functions never fails on it.

local fields = {}

--- The event's data, or an empty table if the data is not an object.
function fields.data(event)
  return type(event.data) == "table" and event.data or {}
end

--- A non-empty UTF-8 string of at most `most` bytes, or nil. Texts of clients go through it before they are parsed, so
--- that a long text costs nothing.
function fields.text(value, most)
  if type(value) ~= "string" or value == "" or #value > most or not utf8.len(value) then return nil end
  return value
end

--- The integer that a number is, as 2 is of 2.0; nil for any other value, and for the float to which the first whole
--- numbers beyond 64 bits round.
function fields.whole(value)
  if math.type(value) == "float" and value <= math.mininteger then return nil end
  return type(value) == "number" and math.tointeger(value) or nil
end

--- Whether a value is one of a list.
function fields.is_one_of(value, list)
  for _, one in ipairs(list) do
    if one == value then return true end
  end
  return false
end

--- The place of the first table in a list whose member has that value, and the table; nil if there is none.
function fields.find(list, member, value)
  for place, one in ipairs(list) do
    if one[member] == value then return place, one end
  end
end

--- A list without a value; nil if nothing else is in it.
function fields.without(list, value)
  local rest = array {}
  for _, one in ipairs(list or {}) do
    if one ~= value then rest[#rest + 1] = one end
  end
  return rest[1] ~= nil and rest or nil
end

--- A list with a value as its last one, once; and the first one, where it makes room: `most` are kept.
function fields.with(list, value, most)
  local all = fields.without(list, value) or array {}
  all[#all + 1] = value
  return all, #all > most and table.remove(all, 1) or nil
end

--- The first name of a member that is none of `names`; nil if there is none.
function fields.unknown(of, names)
  for name in pairs(of) do
    if not fields.is_one_of(name, names) then return tostring(name) end
  end
end

--- Refuses, at load, a table of a file that has members of other names, which would be passed over.
function fields.check_members(place, of, names)
  local unknown = fields.unknown(of, names)
  if unknown then error(place .. ": there is no '" .. unknown .. "'", 0) end
end

--- Whether a value is a list of at least one element.
function fields.is_list(value) return type(value) == "table" and value[1] ~= nil end

local function twice(list, member)
  local shared, seen = member and "have the " .. member or "are", {}
  for _, element in ipairs(list) do
    local value = element
    if member then value = element[member] end
    if seen[value] then return "two " .. shared .. " " .. json.encode(value) end
    seen[value] = true
  end
end

--- A check of a setting: no two elements of a list have the same of one of these members; without any, none are the
--- same.
function fields.unlike(member, other)
  return function(list)
    local problem = twice(list, member) or other and twice(list, other)
    return not problem, problem
  end
end

--- A check of a setting: the type of one event, and no pattern.
function fields.is_type(value)
  return value ~= "" and not value:find("*", 1, true), json.encode(value) .. " is no type of event"
end

--- The value if it is a boolean, else the value from before.
function fields.flag(value, before)
  if type(value) == "boolean" then return value end
  return before
end

--- A value that may be passed on: a table, which may have any number of members, becomes an empty one, which is just as
--- wrong where a string, a number or a boolean belongs.
function fields.plain(value)
  if type(value) == "table" and value ~= json.null then return {} end
  return value
end

--- The members of a table under these names, as far as they may be passed on.
function fields.pick(values, names)
  local picked = {}
  for i = 1, #names do
    local name = names[i]
    local value = values[name]
    if type(value) == "table" then value = fields.plain(value) end
    picked[name] = value
  end
  return picked
end

--- A value as the name under which a state keeps something: a number as a text, as no table of a state has both.
function fields.name(value) return tostring(fields.whole(value) or value) end

local LARGEST = 2.0 ^ 53 -- from here on a float may stand for another whole number than the one that was sent

--- A string, or a number as a string (whole numbers without a fraction); nil for anything else, and for a number that
--- is not kept exactly.
function fields.label(value, most)
  local whole = type(value) == "number" and math.tointeger(value)
  if math.type(value) == "float" then
    if math.abs(value) >= LARGEST then return nil end
    return whole and tostring(whole) or string.format("%.14g", value)
  end
  return whole and tostring(whole) or fields.text(value, most)
end

--- The value, or null instead of nil: for decisions and answers whose members are always present.
function fields.or_null(value)
  if value == nil then return json.null end
  return value
end

return fields
