-- Sliding windows, against a list of all events.

local window = require "window"

local function answer(...) return { ... } end

local MINUTE = { seconds = 60 }

test "an event is in the window for so long, and not longer" (function(t)
  local kept = {}
  t:equal(answer(window.count(kept, MINUTE, 0)), { 0, true })
  t:equal(answer(window.sum(kept, MINUTE, 0)), { 0, true })
  t:equal(answer(window.distinct(kept, MINUTE, 0)), { 0, true })
  t:equal(window.add(kept, MINUTE, 100, 7), true)
  t:equal({ window.count(kept, MINUTE, 99), window.count(kept, MINUTE, 100) }, { 0, 1, true })
  t:equal({ window.count(kept, MINUTE, 159), window.count(kept, MINUTE, 160) }, { 1, 0, true })
  t:equal(answer(window.sum(kept, MINUTE, 159)), { 7, true })
end)

test "count, sum and distinct of a window" (function(t)
  local kept = {}
  for at, value in ipairs { 5, 5, 2, 9 } do window.add(kept, { seconds = 3 }, at, value) end
  local three = { seconds = 3 }
  t:equal({ window.count(kept, three, 4), window.sum(kept, three, 4) }, { 3, 16, true })
  t:equal(answer(window.distinct(kept, three, 4)), { 3, true })
  t:equal(window.distinct(kept, three, 3), 2)
  local plain = {}
  window.add(plain, three, 1)
  t:equal(window.sum(plain, three, 1), 1)
end)

test "the same event counts once" (function(t)
  local kept = {}
  t:equal(window.add(kept, MINUTE, 1, 1, "a"), true)
  t:equal(window.add(kept, MINUTE, 2, 1, "b"), true)
  t:equal(window.add(kept, MINUTE, 1, 1, "a"), false)
  t:equal(window.add(kept, MINUTE, 3), true)
  t:equal(window.add(kept, MINUTE, 3), true)
  t:equal(window.count(kept, MINUTE, 3), 4)
end)

test "what no window needs leaves the state" (function(t)
  local kept = {}
  for _, at in ipairs { 0, 30, 60, 61 } do window.add(kept, MINUTE, at, at, "e" .. at) end
  t:equal(kept, { times = { 30, 60, 61 }, values = { 30, 60, 61 }, ids = { "e30", "e60", "e61" } })
  local brief = {}
  for _, at in ipairs { 0, 60 } do window.add(brief, { seconds = 60, most = 1 }, at) end
  t:equal({ brief.times, brief.lost }, { { 60 }, nil })
  local late = { seconds = 60, late = 30 }
  local longer = {}
  for _, at in ipairs { 0, 30, 60, 61, 90 } do window.add(longer, late, at) end
  t:equal(longer.times, { 30, 60, 61, 90 })
end)

test "of too many events the oldest leave, and the count says that it is not exact" (function(t)
  local kept, options = {}, { seconds = 60, most = 3 }
  for at = 1, 4 do window.add(kept, options, at) end
  t:equal({ kept.times, kept.lost }, { { 2, 3, 4 }, 1 })
  t:equal(answer(window.count(kept, options, 4)), { 3, false })
  t:equal(answer(window.sum(kept, options, 60)), { 3, false })
  t:equal(answer(window.distinct(kept, options, 61)), { 1, true })
  local many = {}
  for at = 1, 1001 do window.add(many, { seconds = 5000 }, at) end
  t:equal({ #many.times, many.lost }, { 1000, 1 })
  local calm = {}
  for _, at in ipairs { 1, 2, 3, 100 } do window.add(calm, options, at) end
  t:equal({ calm.times, calm.lost }, { { 100 }, nil })
end)

test "a late event does not make the count exact again" (function(t)
  local kept, options = {}, { seconds = 100, late = 100, most = 3 }
  for _, at in ipairs { 100, 110, 120, 130, 50 } do window.add(kept, options, at) end
  t:equal(answer(window.count(kept, options, 160)), { 3, false })
end)

test "a window says the same as a list of all events, late and doubled ones included" (function(t)
  t:property(50, function(random)
    return random:list(60, function(r)
      return { gap = r:integer(0, 20), late = r:pick { 0, 0, 0, 5, 15 }, value = r:integer(1, 4) }
    end)
  end, function(events)
    local options, kept, all, clock = { seconds = 50, late = 15 }, {}, {}, 1000
    for i, event in ipairs(events) do
      clock = clock + event.gap
      local at = clock - event.late
      all[i] = { at = at, value = event.value }
      window.add(kept, options, at, event.value, "e" .. i)
      window.add(kept, options, at, event.value, "e" .. i)
      for _, moment in ipairs { clock, clock - 10 } do
        local n, sum, seen, distinct = 0, 0, {}, 0
        for _, one in ipairs(all) do
          if one.at > moment - 50 and one.at <= moment then
            n, sum = n + 1, sum + one.value
            if not seen[one.value] then seen[one.value], distinct = true, distinct + 1 end
          end
        end
        t:equal(answer(window.count(kept, options, moment)), { n, true })
        t:equal(window.sum(kept, options, moment), sum)
        t:equal(window.distinct(kept, options, moment), distinct)
      end
    end
  end)
end)

test "a window without a length is refused" (function(t)
  for _, seconds in ipairs { -1, 0, "60" } do
    t:fails(function() window.add({}, { seconds = seconds }, 1) end, "window: `seconds` is a number above 0")
  end
  t:fails(function() window.count({ times = { 1 } }, {}, 1) end, "window: `seconds` is a number above 0")
end)
