-- An event's data as a table, whatever was sent: data that is no object has no fields.
local NOTHING = {}

return function(event)
  local data = event.data
  if type(data) == "table" then return data end
  return NOTHING
end
