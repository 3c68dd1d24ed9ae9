-- An event's data as a table; an empty table if the data is not an object.
local NOTHING = {}

return function(event)
  local data = event.data
  if type(data) == "table" then return data end
  return NOTHING
end
