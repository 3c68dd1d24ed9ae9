-- Areas: who is told of a new stamp.
local function list(t, user) return t:query("user:" .. user, "notifications").items end

local function enter(t, area, ...)
  for _, user in ipairs { ... } do t:event("user:" .. user, "area.entered", { area = area }) end
end

local function publish(t, area, stamp)
  return t:event("area:" .. area, "stamp.published", { stamp = stamp }).decisions
end

-- How many notifications each user has.
local function told(t, ...)
  local counts = {}
  for i, user in ipairs { ... } do counts[i] = #list(t, user) end
  return counts
end

test "everyone in an area is notified of a stamp published there, once" (function(t)
  enter(t, "paris", "ann", "bob", "bob")
  enter(t, "berlin", "cid")
  t:equal(publish(t, "paris", "louvre"), { badge = 0 })
  t:equal(publish(t, "paris", "louvre"), { badge = 0 })
  t:equal(told(t, "ann", "bob", "cid"), { 1, 1, 0 })
  local one = list(t, "ann")[1]
  t:equal({ one.type, one.sender, one.message, one.relatedStampId },
    { "area_stamp", "Stampbook Team", "New stamps in your area: Louvre", "louvre" })
  enter(t, "paris", "dan")
  publish(t, "paris", "louvre")
  t:equal(told(t, "dan"), { 0 })
end)

test "a large area is notified to the last member" (function(t)
  local inside = { topics = { plugin.name .. "/area:paris" } }
  for i = 1, 1010 do t:given("user:" .. i, 1, {}, inside) end
  publish(t, "paris", "louvre")
  t:equal(told(t, 1, 999, 1000, 1001, 1010), { 1, 1, 1, 1, 1 })
end)

test "a user who left is not notified, a member of two areas of the stamps of both" (function(t)
  enter(t, "paris", "ann", "bob")
  for _ = 1, 2 do t:event("user:ann", "area.left", { area = "paris" }) end
  enter(t, "berlin", "bob")
  publish(t, "paris", "louvre")
  publish(t, "berlin", "fernsehturm")
  t:equal(told(t, "ann", "bob"), { 0, 2 })
end)

test "of too many areas the one that was entered first is left" (function(t)
  t:settings { areas_kept = 2 }
  for _, area in ipairs { "paris", "berlin", "paris", "rome" } do enter(t, area, "ann") end
  publish(t, "berlin", "fernsehturm")
  t:equal({ t:state("user:ann").areas, told(t, "ann") }, { { "paris", "rome" }, { 0 } })
  publish(t, "paris", "louvre")
  t:equal(told(t, "ann"), { 1 })
  for _, area in ipairs { "paris", "rome" } do t:event("user:ann", "area.left", { area = area }) end
  t:equal(t:state("user:ann").areas, nil)
end)

test "a stamp that is not in the catalogue, or not of the area, is not published" (function(t)
  enter(t, "paris", "ann")
  for stamp, error in pairs { atlantis = "unknown_stamp", fernsehturm = "wrong_area", welcome = "wrong_area" } do
    t:equal(publish(t, "paris", stamp), { error = error, badge = 0 })
  end
  t:equal(publish(t, "paris", nil), { error = "unknown_stamp", badge = 0 })
  t:equal(publish(t, "empty", "louvre").error, "wrong_area")
  t:equal(told(t, "ann"), { 0 })
end)

test "a stamp that is published to no area is an error" (function(t)
  for _, subject in ipairs { "user:ann", "paris", "area:" } do
    t:equal(t:event(subject, "stamp.published", { stamp = "louvre" }).decisions, { error = "invalid_area", badge = 0 })
  end
  t:equal(t:sent(), {})
end)

test "an area that can be none is an error" (function(t)
  for _, type in ipairs { "area.entered", "area.left" } do
    for _, area in ipairs { "", 5, "a\nb", ("x"):rep(129) } do
      t:equal(t:event("user:ann", type, { area = area }).decisions, { error = "invalid_area", badge = 0 })
    end
  end
  t:equal(t:sent(), {})
end)

-- A state of earlier rules.
local function given(t, subject, state) t:given(subject, 1, { onboarding = { version = 1, state = state } }) end

-- An area as earlier rules kept it, with its members, or its annex.
local function given_list(t, area, members, annex)
  local listed = {}
  for _, user in ipairs(members) do listed[tostring(user)] = true end
  given(t, "area:" .. area, { members = listed, count = #members, annex = annex })
end

local function given_users(t, ...)
  for _, user in ipairs { ... } do given(t, "user:" .. user, { bell_opened = true }) end
end

test "the members that earlier rules listed are told, and join" (function(t)
  given_users(t, "ann", "bob")
  given_list(t, "paris", { "ann", "bob" })
  enter(t, "paris", "bob", "cid")
  publish(t, "paris", "louvre")
  t:equal(told(t, "ann", "bob", "cid"), { 1, 1, 0 })
  t:advance("1s")
  t:equal(told(t, "ann", "bob", "cid"), { 1, 1, 1 })
  t:equal(t:state("area:paris"), {})
  publish(t, "paris", "notre-dame")
  t:equal(told(t, "ann", "bob", "cid"), { 2, 2, 2 })
end)

test "a listed member who left, or was forgotten, is not told" (function(t)
  given_users(t, "ann", "cid", "dan", "eve")
  given_list(t, "paris", { "ann", "bob", "cid" }, true)
  given_list(t, "paris+", { "dan", "eve" })
  for _, user in ipairs { "ann", "dan", "zoe" } do t:event("user:" .. user, "area.left", { area = "paris" }) end
  publish(t, "paris", "louvre")
  t:advance("2s")
  t:equal(told(t, "ann", "bob", "cid", "dan", "eve"), { 0, 0, 1, 0, 1 })
  t:equal(t:state("user:bob"), {})
end)

test "a long list is told some a second" (function(t)
  local members = {}
  for i = 1, 501 do members[i] = i end
  given_list(t, "paris", members)
  given_users(t, 1, 250, 500, 501)
  enter(t, "paris", "bob")
  publish(t, "paris", "louvre")
  publish(t, "paris", "eiffel-tower")
  t:advance("2s")
  t:equal(told(t, 1, 250, 500, 501, "bob"), { 2, 2, 2, 2, 2 })
end)

test "the annex of a long list is told behind it" (function(t)
  local members, of_annex = {}, { "ann" }
  for i = 1, 500 do members[i] = i end
  for i = 501, 700 do of_annex[i - 499] = i end
  given_list(t, "paris", members, true)
  given_list(t, "paris+", of_annex)
  given_users(t, 500, 700, "ann")
  enter(t, "paris", "bob")
  publish(t, "paris", "louvre")
  t:advance("2s")
  t:equal(told(t, 500, 700, "ann", "bob"), { 1, 1, 1, 1 })
end)
