-- `extinfo`: what Meta wants to know of the device, 16 strings in its order, "" where unknown.

local told = require "told"

local device_info = {}

local VERSION = { ios = "i2", android = "a2" }

--- The 15 that follow the version, in Meta's order.
local FIELDS = {
  "package", "short_version", "long_version", "os_version", "model", "locale", "tz_abbr", "carrier", "width", "height",
  "density", "cores", "storage_gb", "free_gb", "tz",
}

--- What a client told of its device; nothing when it told nothing.
function device_info.read(device)
  if type(device) ~= "table" then return nil end
  local known = {}
  for _, name in ipairs(FIELDS) do known[name] = told.label(device[name], settings.device_bytes) end
  return known
end

function device_info.extinfo(platform, device)
  local info = array { VERSION[platform] or "" }
  for _, name in ipairs(FIELDS) do info[#info + 1] = device and device[name] or "" end
  return info
end

return device_info
