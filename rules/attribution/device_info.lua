-- `extinfo`: 16 strings about the device in Meta's order, "" where unknown.

local fields = require "fields"

local device_info = {}

local VERSION = { ios = "i2", android = "a2" }

--- The 15 that follow the version, in Meta's order.
local FIELDS = {
  "package", "short_version", "long_version", "os_version", "model", "locale", "tz_abbr", "carrier", "width", "height",
  "density", "cores", "storage_gb", "free_gb", "tz",
}

--- The device fields that a client sent; nil if it sent none.
function device_info.read(device)
  if type(device) ~= "table" then return nil end
  local known = {}
  for _, name in ipairs(FIELDS) do known[name] = fields.label(device[name], settings.device_bytes) end
  return known
end

function device_info.extinfo(platform, device)
  local info = array { VERSION[platform] or "" }
  for _, name in ipairs(FIELDS) do info[#info + 1] = device and device[name] or "" end
  return info
end

return device_info
