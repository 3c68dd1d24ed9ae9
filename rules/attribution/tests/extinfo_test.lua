-- The data of the device for Meta.

local own = require "own"

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=IwAR1aB&utm_source=facebook&utm_medium=cpc"

local function launch(t, platform, more)
  local data = { platform = platform }
  for name, value in pairs(more or {}) do data[name] = value end
  return own(t:event("device:d", "app.launched", data))
end

local function answer(t, status) return own(t:event("device:d", "att.answered", { status = status })) end

local DEVICE = {
  package = "io.ozma.theboss", short_version = "1.2", long_version = "1.2.3", os_version = "18.1",
  model = "iPhone16,1", locale = "en_US", tz_abbr = "PST", carrier = "", width = 390, height = 844, density = 3.0,
  cores = "6", storage_gb = 128, free_gb = 20.5, tz = "America/Los_Angeles", color = "blue",
}

local EXTINFO = {
  "i2", "io.ozma.theboss", "1.2", "1.2.3", "18.1", "iPhone16,1", "en_US", "PST", "", "390", "844", "3", "6", "128",
  "20.5", "America/Los_Angeles",
}

test "extinfo is 16 strings in Meta's order, numbers as strings" (function(t)
  launch(t, "ios", { url = AD, device = DEVICE })
  t:equal(answer(t, "denied")[2].data.extinfo, EXTINFO)
end)

test "extinfo is of the device fields sent last" (function(t)
  launch(t, "ios", { url = AD, device = DEVICE, att_status = "denied" })
  t:equal(launch(t, "ios")[2].data.extinfo, EXTINFO)
  t:equal(launch(t, "ios", { device = "broken" })[2].data.extinfo, EXTINFO)
  local newer = launch(t, "ios", { device = { model = "iPhone18,1", cores = true, tz = {} } })[2].data.extinfo
  t:equal(newer, { "i2", "", "", "", "", "iPhone18,1", "", "", "", "", "", "", "", "", "", "" })
end)

test "a number that is not kept exactly is unknown" (function(t)
  launch(t, "ios", { url = AD, device = { width = 1e300, height = 18446744073709551615.0, density = 1e15, cores = 8 } })
  local told = answer(t, "denied")[2].data.extinfo
  t:equal({ told[10], told[11], told[12], told[13] }, { "", "", "1000000000000000", "8" })
end)
