local own = require "own"

local CLASS = "class:yoga"

-- A class on a Tuesday after a holiday, with two places.
local function plan(t)
  t:settings { holidays = { "2025-11-17" } }
  t:at("2025-11-10T08:00:00Z")
  t:event(CLASS, "class.planned", { starts = "2025-11-18T18:30:00+01:00", places = 2 })
end

local function want(t, ...)
  for _, user in ipairs { ... } do t:event(user, "booking.wanted", { class = CLASS }) end
end

local function give_up(t, user) t:event(user, "booking.given_up", { class = CLASS }) end

-- The answers to a user.
local function told(t, user)
  local types = array {}
  for _, effect in ipairs(own(t:effects(user))) do types[#types + 1] = effect.type end
  return types
end

test "places go in the order of the asking, and who waits gets the first that is given up" (function(t)
  plan(t)
  want(t, "user:a", "user:b", "user:c", "user:d", "user:a", "user:c")
  t:equal(t:query(CLASS, "class", { class = CLASS }), { booked = 2, waiting = 2, members = 2 })
  give_up(t, "user:d")
  give_up(t, "user:a")
  t:equal(told(t, "user:a"), { "booked", "given_up" })
  t:equal(told(t, "user:c"), { "waiting", "booked" })
  t:equal(t:query("user:d", "bookings"), { [CLASS] = "given_up" })
  give_up(t, "user:b")
  give_up(t, "user:b")
  t:equal(t:query(CLASS, "class", { class = CLASS }), { booked = 1, waiting = 0, members = 1 })
end)

test "on the evening of the working day before, the list closes, and who has a place is reminded" (function(t)
  plan(t)
  want(t, "user:a", "user:b", "user:c")
  t:at("2025-11-14T16:59:59Z") -- Friday, before a weekend and a holiday
  t:equal(told(t, "user:a"), { "booked" })
  t:advance("1s")
  t:equal(told(t, "user:a"), { "booked", "reminder" })
  t:equal(told(t, "user:c"), { "waiting" })
  t:equal(own(t:effects("user:a"))[2].data, { class = CLASS, starts = calendar.parse("2025-11-18T17:30:00Z") })
  give_up(t, "user:a")
  want(t, "user:d")
  t:equal(t:decided("user:a"), {})
  t:equal(told(t, "user:a"), { "booked", "reminder", "too_late" })
  t:equal(told(t, "user:d"), { "closed" })
  t:equal(t:query("user:a", "bookings"), { [CLASS] = "booked" })
end)

test "a class that is called off tells all who have a place, once" (function(t)
  plan(t)
  want(t, "user:a", "user:b", "user:c")
  t:event(CLASS, "class.called_off")
  t:advance("2w")
  t:equal({ told(t, "user:b"), told(t, "user:c") }, { { "booked", "called_off" }, { "waiting" } })
end)

test "what there is not can't be booked, and a class is planned once" (function(t)
  want(t, "user:a")
  give_up(t, "user:a")
  t:event(CLASS, "class.called_off")
  t:event(CLASS, "class.planned", { starts = "soon", places = 9 })
  t:equal(told(t, "user:a"), { "closed" })
  plan(t)
  t:event(CLASS, "class.planned", { starts = "2025-12-01T08:00:00Z", places = 9 })
  want(t, "user:a", "user:b", "user:c")
  t:equal(t:query(CLASS, "class", { class = CLASS }), { booked = 2, waiting = 1, members = 2 })
end)

test "however users ask and give up, no place is given twice" (function(t)
  t:property(10, function(random)
    return random:list(20, function(r) return { user = "user:" .. r:integer(1, 5), wants = r:boolean() } end)
  end, function(steps)
    plan(t)
    for _, step in ipairs(steps) do
      if step.wants then want(t, step.user) else give_up(t, step.user) end
    end
    local class, booked = t:query(CLASS, "class", { class = CLASS }), 0
    for n = 1, 5 do
      if t:query("user:" .. n, "bookings")[CLASS] == "booked" then booked = booked + 1 end
    end
    t:equal({ class.booked, class.members }, { booked, booked })
    t:truthy(booked == 2 or class.waiting == 0)
  end)
end)
