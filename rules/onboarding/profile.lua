-- The data of a user from themselves: the name in others' texts, the language of their own, the zone of their days.
local fields = require "fields"
local pii = require "pii"
local texts = require "texts"

local profile = {}

-- Reads each member, or gives nil for what can be none.
local READERS = {
  name      = function(value)
    if value == "" then return "" end
    if not fields.text(value, settings.name_bytes) or value:find("%c") or pii.holds_address(value) then return nil end
    return text.trim(value)
  end,
  locale    = function(value) return texts.is_locale(value) and value or nil end,
  time_zone = function(value) return type(value) == "string" and calendar.known(value) and value or nil end,
}
local ERRORS = { name = "invalid_name", locale = "invalid_locale", time_zone = "invalid_zone" }

--- Keeps all that is told, or nothing. An empty name takes the name away.
function profile.update(state, data)
  local told = {}
  for member, read in pairs(READERS) do
    if data[member] ~= nil then
      told[member] = read(data[member])
      if not told[member] then return decide("error", ERRORS[member]) end
    end
  end
  for member, value in pairs(told) do state[member] = value ~= "" and value or nil end
end

return profile
