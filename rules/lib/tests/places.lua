local places = require "places"

local function list_with(members)
  local place = { id = "louvre", name = "Louvre", lat = 48.86, lon = 2.34, radius_m = 30, area = "paris" }
  for member, value in pairs(members) do place[member] = value end
  return { { id = "welcome", name = "Welcome", requiresLocation = false }, place }
end

test "a wrong place does not load, and says why" (function(t)
  t:each({
    { { id = "" }, "stamps.json: the place  has no id" }, { { id = 5 }, "the place 5 has no id" },
    { { name = "" }, "the place louvre has no name" }, { { name = { en = "Louvre" } }, "has no name" },
    { { area = 75 }, "has an area that is no text" }, { { area = "" }, "has an area that is no text" },
    { { lat = 91 }, "is nowhere on earth" }, { { lon = -181 }, "is nowhere on earth" },
    { { lat = "48" }, "is nowhere on earth" }, { { lat = json.null }, "is nowhere on earth" },
    { { radius_m = "30" }, "has a radius_m that is no distance" },
    { { radius_m = -5 }, "has a radius_m that is no distance" },
    { { radius_m = 0 }, "has a radius_m that is no distance" },
    { { id = "welcome" }, "the place welcome is there twice" },
    { { radius = 30 }, "the place louvre has 'radius', which means nothing" },
    { { requiresLocation = "no" }, "has requiresLocation that is neither true nor false" },
    { { area = ("a"):rep(129) }, "has an area that is no text of at most 128 bytes" },
  }, function(case)
    t:fails(function() places.new("stamps.json", list_with(case[1]), 100, 128) end, case[2])
  end)
  local half = { { id = "x", name = "X", lat = 1 } }
  t:fails(function() places.new("stamps.json", half, 100, 128) end, "neither lat and lon nor")
end)

test "a place has its own radius, or that of all" (function(t)
  local list = list_with {}
  list[3] = { id = "tower", name = "Tower", lat = 1, lon = 2 }
  local by_id, all = places.new("stamps.json", list, 100, 128)
  t:equal({ all[1].radius_m, all[2].radius_m, all[3].radius_m }, { nil, 30, 100 })
  t:equal(by_id.tower, all[3])
end)

test "who was anywhere within a place's radius comes from there" (function(t)
  local lake = { lat = 0, lon = 0, radius_m = 60000 }
  t:equal({ places.is_beyond(lake, 0, 0.9, 50000), places.is_beyond(lake, 0, 1.1, 50000) }, { false, true })
end)
