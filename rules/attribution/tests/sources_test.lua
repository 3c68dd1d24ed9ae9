-- Where installs come from, counted by day.

local LINK = "https://discovery.ozma.io/go-app/the-boss?"

local function launch(t, device, query)
  t:event(device, "app.launched", { platform = "ios", url = query and LINK .. query })
end

test "first launches are counted by day and source, others under few names" (function(t)
  t:at("2025-11-10T12:00:00Z")
  launch(t, "device:a", "fbclid=x")
  launch(t, "device:b", "utm_source=TikTok")
  launch(t, "device:c", "utm_source=whatever-somebody-typed")
  launch(t, "device:d")
  launch(t, "device:e")
  launch(t, "device:e")
  t:at("2025-11-11T00:00:00Z")
  launch(t, "device:f", "utm_source=facebook")
  t:equal(t:query(nil, "installs", {}), { installs = {
    { day = "2025-11-10", source = "facebook", count = 1 },
    { day = "2025-11-10", source = "organic", count = 2 },
    { day = "2025-11-10", source = "other", count = 1 },
    { day = "2025-11-10", source = "tiktok", count = 1 },
    { day = "2025-11-11", source = "facebook", count = 1 },
  } })
end)
