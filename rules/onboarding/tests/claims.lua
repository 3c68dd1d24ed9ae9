-- Claims with and without a place, milestones and achievements.
local places = {}
for _, stamp in ipairs(data("stamps.json")) do places[stamp.id] = stamp end

local function claim(t, stamp, lat, lon)
  return t:event("user:1", "stamp.claim", { stamp = stamp, lat = lat, lon = lon }).decisions.claim
end

local function claim_at(t, id) return claim(t, id, places[id].lat, places[id].lon) end

local function told(t, kind)
  local messages = {}
  for _, notification in ipairs(t:query("user:1", "notifications").items) do
    if notification.type == kind then messages[#messages + 1] = notification.message end
  end
  return messages
end

test "a stamp is claimed within its radius" (function(t)
  t:equal(claim(t, "eiffel-tower", 48.85837, 2.29448), { ok = true, stamp = "eiffel-tower", distance_m = 0.0 })
  local near = claim(t, "louvre", 48.8625, 2.33764)
  t:truthy(near.ok and near.distance_m > 200 and near.distance_m < 220)
end)

test "beyond the radius it is too far, and the distance says how far" (function(t)
  local refused = claim(t, "eiffel-tower", 48.86061, 2.33764)
  t:equal({ refused.ok, refused.stamp, refused.reason }, { false, "eiffel-tower", "too_far" })
  t:truthy(refused.distance_m > 3100 and refused.distance_m < 3250)
  t:equal(t:query("user:1", "stamps"), { items = {}, count = 0 })
end)

test "each refusal has its reason" (function(t)
  t:equal(claim(t, "atlantis"), { ok = false, stamp = "atlantis", reason = "unknown_stamp" })
  t:equal(claim(t, nil), { ok = false, reason = "unknown_stamp" })
  t:equal(claim(t, "louvre").reason, "location_required")
  t:equal(claim(t, "louvre", 48.86).reason, "location_required")
  for _, place in ipairs { { 91, 0 }, { -90.5, 0 }, { 0, 180.5 }, { 0, -181 }, { "48", 2 }, { 48, true } } do
    t:equal(claim(t, "louvre", place[1], place[2]).reason, "invalid_location")
  end
  for _, place in ipairs { { 90, 180 }, { -90, -180 } } do
    t:equal(claim(t, "louvre", place[1], place[2]).reason, "too_far")
  end
  claim_at(t, "louvre")
  t:equal(claim(t, "louvre"), { ok = false, stamp = "louvre", reason = "already_claimed" })
  t:equal(t:event("user:1", "stamp.claim", "louvre").decisions.claim.reason, "unknown_stamp")
end)

test "the welcome stamp ignores the location" (function(t)
  t:equal(claim(t, "welcome", 500, "north"), { ok = true, stamp = "welcome" })
end)

test "stamps are listed in the order of claiming, with their time" (function(t)
  t:at("2026-03-01T10:00:00Z")
  claim_at(t, "louvre")
  t:advance("1h")
  claim(t, "welcome")
  local stamps = t:query("user:1", "stamps")
  t:equal({ stamps.count, stamps.items[1].stamp, stamps.items[2].stamp }, { 2, "louvre", "welcome" })
  t:equal(calendar.parse(stamps.items[2].claimedAt), calendar.parse("2026-03-01T11:00:00Z"))
  t:equal(t:query(nil, "stamps"), { items = {}, count = 0 })
end)

test "milestones notify once each" (function(t)
  for _, stamp in ipairs { "welcome", "louvre", "notre-dame", "eiffel-tower" } do
    claim_at(t, stamp)
    t:advance("1d")
  end
  t:equal(told(t, "milestone"), { "Collection milestone: 1 stamp" })
  claim_at(t, "fernsehturm")
  t:equal(told(t, "milestone"), { "Collection milestone: 5 stamps", "Collection milestone: 1 stamp" })
  t:equal(told(t, "achievement"), {})
end)

test "stamps of three areas are an achievement, once" (function(t)
  for _, stamp in ipairs { "louvre", "eiffel-tower", "fernsehturm" } do claim_at(t, stamp) t:advance("1d") end
  t:equal(told(t, "achievement"), {})
  claim_at(t, "tokyo-tower")
  t:equal(told(t, "achievement"), { "Achievement unlocked: stamps of three areas" })
  t:advance("1d")
  claim_at(t, "sky-tower")
  t:equal(#told(t, "achievement"), 1)
end)

test "five stamps in a day are an achievement, five in two days are none" (function(t)
  t:at("2026-03-01T23:00:00Z")
  for _, stamp in ipairs { "welcome", "louvre" } do claim_at(t, stamp) end
  t:at("2026-03-02T00:00:00Z")
  for _, stamp in ipairs { "eiffel-tower", "notre-dame", "fernsehturm", "brandenburg-gate" } do claim_at(t, stamp) end
  t:equal(told(t, "achievement"), {})
  claim_at(t, "coit-tower")
  t:equal(told(t, "achievement"), {
    "Achievement unlocked: five stamps in a day", "Achievement unlocked: stamps of three areas",
  })
end)

test "an id that can be none is not repeated" (function(t)
  for _, id in ipairs { { "nowhere" }, ("x"):rep(1000) } do
    t:equal(claim(t, id), { ok = false, reason = "unknown_stamp" })
  end
  t:equal(claim(t, "nowhere"), { ok = false, stamp = "nowhere", reason = "unknown_stamp" })
end)
