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
  for _, stamp in ipairs { "eiffel-tower", "notre-dame" } do claim_at(t, stamp) end
  t:advance("2h")
  for _, stamp in ipairs { "fernsehturm", "brandenburg-gate" } do claim_at(t, stamp) end
  t:equal(told(t, "achievement"), {})
  t:advance("12h")
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

test "the day of five stamps is one of the user's zone" (function(t)
  t:event("user:1", "profile.updated", { time_zone = "America/Los_Angeles" })
  t:at("2026-03-02T05:00:00Z")                                 -- nine in the evening, there
  for _, stamp in ipairs { "welcome", "louvre", "eiffel-tower" } do claim_at(t, stamp) end
  t:at("2026-03-02T07:59:59Z")
  claim_at(t, "fernsehturm")
  t:at("2026-03-02T08:00:00Z")
  claim_at(t, "brandenburg-gate")
  t:equal(told(t, "achievement"), {})
  t:event("user:1", "profile.updated", { time_zone = "Europe/Berlin" })
  claim_at(t, "notre-dame")                                    -- not possible at once
  t:advance("1h")
  claim_at(t, "notre-dame")
  t:equal(told(t, "achievement"), { "Achievement unlocked: five stamps in a day" })
end)

test "a claim is refused where nobody can have come in time from another one" (function(t)
  t:at("2026-03-01T10:00:00Z")
  t:truthy(claim_at(t, "louvre").ok and claim_at(t, "eiffel-tower").ok)   -- 3 km need no time
  t:equal(claim_at(t, "fernsehturm"), { ok = false, stamp = "fernsehturm", reason = "too_fast", distance_m = 0.0 })
  t:equal(claim(t, "fernsehturm", 48.86, 2.34).reason, "too_far")
  t:truthy(claim(t, "welcome").ok)
  t:advance("49m")
  t:equal(claim_at(t, "fernsehturm").reason, "too_fast")                  -- 878 km
  t:advance("2m")
  t:truthy(claim_at(t, "fernsehturm").ok)
  t:equal(claim_at(t, "notre-dame").reason, "too_fast")
  t:advance("20h")
  t:truthy(claim_at(t, "sydney-opera-house").ok)
end)

test "several short ways are not faster than one long one" (function(t)
  t:settings { too_fast = { km_h = 1, from_km = 3.5 } }
  t:truthy(claim_at(t, "notre-dame").ok and claim_at(t, "louvre").ok)
  t:equal(claim_at(t, "eiffel-tower").reason, "too_fast")                 -- 3.2 km from the one, 4.1 from the other
  t:advance("45m")
  t:truthy(claim_at(t, "eiffel-tower").ok)
end)

test "no way is too fast where the setting is off" (function(t)
  t:settings { too_fast = { km_h = 0, from_km = 0 } }
  t:truthy(claim_at(t, "louvre").ok and claim_at(t, "sky-tower").ok)
end)

test "the texts of milestones and achievements are in the user's language" (function(t)
  t:event("user:1", "user.signed_in", { locale = "de-DE" })
  for _, stamp in ipairs { "welcome", "louvre", "notre-dame", "eiffel-tower" } do claim_at(t, stamp) end
  t:advance("1d")
  claim_at(t, "fernsehturm")
  t:equal(told(t, "welcome"), { "Willkommen! Hol dir deinen ersten Stempel" })
  t:equal(told(t, "milestone"), { "Meilenstein deiner Sammlung: 5 Stempel", "Meilenstein deiner Sammlung: 1 Stempel" })
end)

test "other products set their own achievements" (function(t)
  t:settings {
    achievements = { { name = "twice", measure = "stamps", at = 2 } },
    messages     = { twice = "Two!", milestone = "{count}", one_stamp = "1", stamps = "{n}" },
  }
  claim_at(t, "louvre")
  t:equal(told(t, "achievement"), {})
  claim_at(t, "welcome")
  t:equal(told(t, "achievement"), { "Two!" })
end)

test "the catalogue has each stamp with name, image and place" (function(t)
  local catalogue = t:query(nil, "catalogue")
  t:equal({ catalogue.count, #catalogue.items }, { 13, 13 })
  t:equal(catalogue.items[1], {
    id = "welcome", name = "Welcome to Stampbook", image = "stamps/welcome.jpg", requiresLocation = false,
  })
  t:equal(catalogue.items[3], {
    id = "louvre", name = "Louvre", image = "stamps/louvre.jpg", lat = 48.86061, lon = 2.33764, radius_m = 300,
    area = "paris",
  })
  for _, stamp in ipairs(catalogue.items) do t:truthy(stamp.name and stamp.image, stamp.id) end
end)

test "the catalogue is listed by area and in pages" (function(t)
  local function ids(args)
    local found = {}
    for i, stamp in ipairs(t:query(nil, "catalogue", args).items) do found[i] = stamp.id end
    return found
  end
  t:equal(ids { area = "berlin" }, { "brandenburg-gate", "fernsehturm" })
  t:equal(ids { limit = 2 }, { "welcome", "eiffel-tower" })
  t:equal(ids { limit = 1, after = "eiffel-tower" }, { "louvre" })
  t:equal(ids { area = "paris", after = "louvre" }, { "notre-dame" })
  t:equal(ids { after = "atlantis" }, {})
  t:settings { catalogue_page = 3 }
  t:equal(#ids {}, 3)
end)
