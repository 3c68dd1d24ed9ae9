-- Once, the first, windows, pairs.

local dedup = require "dedup"

test "a key of several parts tells them apart" (function(t)
  t:equal(dedup.key("like", "bob", "p1"), '["like","bob","p1"]')
  t:truthy(dedup.key("like", "a", "b") ~= dedup.key("like", "ab", ""))
end)

test "a key that is too long is a digest, and still tells apart" (function(t)
  local longest = ("a"):rep(256 - #'["x",""]')
  t:equal(#dedup.key("x", longest), 256)
  local long, other = dedup.key("x", longest .. "a"), dedup.key("x", longest .. "b")
  t:truthy(long:find("^x:%x+$") and #long == 66)
  t:truthy(long ~= other)
  t:truthy(dedup.key(7, longest .. "and more"):find("^7:%x+$"))
  for _, first in ipairs { ("x"):rep(192), longest .. "a", { longest } } do
    t:truthy(dedup.key(first, longest):find("^%x+$"))
  end
end)

test "once is true the first time for its parts" (function(t)
  local function first(more)
    return t:event("user:1", "lib.once", { about = "like", id = "bob", more = more }).decisions.first
  end
  t:equal({ first(), first(), first("p1"), first("p1"), first("p2") }, { true, false, true, false, true })
end)

test "the first value stays, unless another one is better" (function(t)
  local kept = {}
  t:equal({ dedup.first(kept, "source", "ad") }, { "ad", true })
  t:equal({ dedup.first(kept, "source", "mail") }, { "ad", false })
  t:equal(kept, { source = "ad" })
  local function longer(value, held) return #value > #held end
  t:equal({ dedup.first(kept, "source", "x", longer) }, { "ad", false })
  t:equal({ dedup.first(kept, "source", "mail", longer) }, { "mail", true })
  t:equal({ dedup.first({ off = false }, "off", true) }, { false, false })
end)

test "a key counts again when its window has passed" (function(t)
  local kept, options = {}, { seconds = 60 }
  t:equal(dedup.window(kept, options, 100, "a"), true)
  t:equal(dedup.window(kept, options, 159, "a"), false)
  t:equal(dedup.window(kept, options, 159, "b"), true)
  t:equal(dedup.window(kept, options, 160, "a"), true)
  t:equal(kept, { a = { 100, 160 }, b = 159 })
  t:equal(dedup.window(kept, options, 280, "c"), true)
  t:equal(kept, { c = 280 })
end)

test "a late event is judged by its own time, and takes no time back" (function(t)
  local kept, options = {}, { seconds = 60 }
  dedup.window(kept, options, 1000, "a")
  t:equal(dedup.window(kept, options, 941, "a"), false)
  t:equal(dedup.window(kept, options, 940, "a"), true)
  t:equal(dedup.window(kept, options, 1059, "a"), false)
end)

test "what is doubled counts once, also behind a newer one, or one of another key" (function(t)
  local kept, options = {}, { seconds = 60 }
  local function counts(at, key) return dedup.window(kept, options, at, key) end
  t:equal({ counts(100, "a"), counts(160, "a"), counts(100, "a") }, { true, true, false })
  t:equal({ counts(221, "b"), counts(161, "a"), counts(221, "a"), counts(162, "a") }, { true, false, true, false })
  t:equal({ counts(1000, "c"), counts(940, "c"), counts(940, "c"), counts(900, "c") }, { true, true, false, false })
  t:equal(dedup.window({ a = 100 }, options, 99, "a"), false) -- as it was kept before
  for at = 900, 0, -100 do counts(at, "c") end
  t:equal(kept.c, { 940, 1000 })
end)

test "the oldest keys make room for new ones" (function(t)
  local kept, options = {}, { seconds = 1000, most = 2 }
  for at, key in ipairs { "a", "b", "c" } do dedup.window(kept, options, at, key) end
  t:equal(kept, { b = 2, c = 3 })
  dedup.window(kept, options, 2002, "b")
  t:equal(kept, { b = 2002, c = 3 })
  local even = { a = 1, b = 1 }
  dedup.window(even, options, 1, "c")
  t:equal(even, { b = 1, c = 1 })
  local many = {}
  for at = 1, 200 do dedup.window(many, { seconds = 1000 }, at, "k" .. at) end
  local n = 0
  for _ in pairs(many) do n = n + 1 end
  t:equal(n, 100)
end)

test "in no window does a key count twice, however events come, and what is alone in its window counts" (function(t)
  t:property(60, function(random)
    return random:list(60, function(r)
      return { at = r:integer(0, 500), late = r:integer(0, 49), key = r:pick { "a", "b", "c" } }
    end)
  end, function(events)
    table.sort(events, function(one, other) return one.at + one.late < other.at + other.late end)
    local kept, counted = {}, { a = {}, b = {}, c = {} }
    for _, event in ipairs(events) do
      local expected, times = true, counted[event.key]
      for _, at in ipairs(times) do expected = expected and math.abs(event.at - at) >= 50 end
      t:equal(dedup.window(kept, { seconds = 50 }, event.at, event.key), expected)
      if expected then times[#times + 1] = event.at end
      t:equal(dedup.window(kept, { seconds = 50 }, event.at, event.key), false) -- doubled
    end
  end)
end)

test "a pair of effects has one id" (function(t)
  local id = t:event("user:1", "lib.pair").decisions.id
  local effects = t:effects("user:1")
  t:equal({ #effects, effects[1].sink, effects[2].sink }, { 2, "backend", "client" })
  t:equal({ effects[1].type, effects[1].data }, { "Bought", { n = 2, eventId = id } })
  t:equal(effects[2].data, { n = 1, eventId = id })
  t:truthy(t:event("user:1", "lib.pair").decisions.id ~= id)
end)

test "the key of a window may be a number" (function(t)
  local function counts(code) return t:event("device:1", "lib.window", { code = code }).decisions.counts end
  t:equal({ counts(7), counts(7.0), counts "overheated", counts(8) }, { true, false, true, true })
end)

test "a time without repeats needs a length" (function(t)
  t:fails(function() dedup.window({}, {}, 1, "a") end, "dedup: `seconds` is a number above 0")
end)
