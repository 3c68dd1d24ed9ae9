-- What an event tells: its members when they are of the kind that is asked for, nothing otherwise. Clients send what
-- they like; a rule that reads through here never fails on it.

local told = {}

--- The event's data, or an empty table when the data is no object.
function told.data(event)
  return type(event.data) == "table" and event.data or {}
end

--- A string that says something, at most `most` bytes long.
function told.text(value, most)
  if type(value) ~= "string" or value == "" or #value > most or not utf8.len(value) then return nil end
  return value
end

--- A boolean, or what was told before.
function told.flag(value, before)
  if type(value) == "boolean" then return value end
  return before
end

--- A string or a number as a string, whole numbers without a fraction; nothing for all else.
function told.label(value, most)
  if math.type(value) == "integer" then return tostring(value) end
  if math.type(value) == "float" then return string.format("%.14g", value) end
  return told.text(value, most)
end

--- The value, or null where there is none: for decisions and answers whose members are always there.
function told.or_null(value)
  if value == nil then return json.null end
  return value
end

return told
