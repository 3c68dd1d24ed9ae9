-- The campaign parameters of a link.

local utm = {}

utm.names = { "utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term" }

--- The campaign parameters that are present in `fields`, by name.
function utm.present(fields)
  local found = {}
  for _, name in ipairs(utm.names) do found[name] = fields[name] end
  return found
end

return utm
