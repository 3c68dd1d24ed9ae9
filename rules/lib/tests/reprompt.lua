-- When to ask again, and why not yet.

local reprompt = require "reprompt"

local DAY = 86400
local PLAIN = { after = 14 * DAY }

local function answer(...) return { ... } end

test "the first wait counts from the event that begins the asking" (function(t)
  local kept = {}
  t:equal(answer(reprompt.due(kept, PLAIN, 100)), { false, "not_begun" })
  t:equal(answer(reprompt.due(kept, PLAIN, 100, 50)), { false, "too_soon", 50 + 14 * DAY })
  t:equal(reprompt.due(kept, PLAIN, 50 + 14 * DAY, 50), true)
  t:equal(kept, {})
end)

test "each prompt begins the wait again, and so does a later beginning" (function(t)
  local kept = {}
  reprompt.asked(kept, PLAIN, 5 * DAY)
  t:equal(kept, { prompted_at = 5 * DAY })
  t:equal(answer(reprompt.next(kept, PLAIN, DAY)), { 19 * DAY, "too_soon" })
  t:equal(reprompt.next(kept, PLAIN, 6 * DAY), 20 * DAY)
end)

test "waits may grow, and the last one stays" (function(t)
  local kept, options = {}, { after = { 10, 20, 40 } }
  local found = {}
  for i = 1, 4 do
    found[i] = reprompt.next(kept, options, 0)
    reprompt.asked(kept, options, found[i])
  end
  t:equal(found, { 10, 30, 70, 110 })
  t:equal(kept.prompts, 4)
end)

test "after the last prompt it never asks again" (function(t)
  local kept, options = {}, { after = 10, most = 2 }
  for at = 10, 20, 10 do
    t:equal(reprompt.due(kept, options, at, 0), true)
    reprompt.asked(kept, options, at)
  end
  t:equal(answer(reprompt.due(kept, options, 1000, 0)), { false, "most" })
end)

test "a cap holds prompts back longer than the wait" (function(t)
  local kept, options = {}, { after = 10, caps = { { n = 2, seconds = 100 } } }
  reprompt.asked(kept, options, 0)
  t:equal(answer(reprompt.next(kept, options, 0)), { 10, "too_soon" })
  reprompt.asked(kept, options, 10)
  t:equal(answer(reprompt.due(kept, options, 50, 0)), { false, "cap", 100 })
  t:equal(reprompt.due(kept, options, 100, 0), true)
  t:equal(kept.prompt_times, { 0, 10 })
  local far = { after = 200, caps = { { n = 2, seconds = 100 } } }
  t:equal(answer(reprompt.next(kept, far, 0)), { 210, "too_soon" })
end)

test "quiet hours move a prompt to their end" (function(t)
  local options = { after = 3600, quiet = { from = "22:00", to = "08:00", zone = "Europe/Berlin" } }
  local late, morning = calendar.parse "2025-11-10T21:30:00+01:00", calendar.parse "2025-11-11T08:00:00+01:00"
  t:equal(reprompt.next({}, options, late), morning)
  t:equal(answer(reprompt.due({}, options, late + 7200, late - 86400)), { false, "quiet", morning })
  t:equal(reprompt.due({}, options, morning, late), true)
end)

test "quiet hours are the reason once the wait is over, and not before" (function(t)
  local options = { after = 3600, quiet = { from = "22:00", to = "08:00", zone = "Europe/Berlin" } }
  local late, morning = calendar.parse "2025-11-10T21:30:00+01:00", calendar.parse "2025-11-11T08:00:00+01:00"
  t:equal(answer(reprompt.due({}, options, late + 3599, late)), { false, "too_soon", morning })
  t:equal(answer(reprompt.due({}, options, late + 3600, late)), { false, "quiet", morning })
end)

test "a cap of none never asks" (function(t)
  local night = { from = "22:00", to = "08:00", zone = "UTC" }
  local options = { after = 10, caps = { { n = 0, seconds = 100 } }, quiet = night }
  t:equal(answer(reprompt.due({}, options, 1000, 0)), { false, "cap" })
  t:equal(answer(reprompt.next({}, options, 0)), { nil, "cap" })
end)

test "it is due from the moment that it tells, and not before, whatever was asked" (function(t)
  t:property(60, function(random)
    return random:list(12, function(r) return r:integer(0, 30 * DAY) end)
  end, function(gaps)
    local options = {
      after = { 2 * DAY, 5 * DAY }, caps = { { n = 3, seconds = 20 * DAY } },
      quiet = { from = "21:00", to = "09:00", zone = "America/New_York" },
    }
    local kept, at, from = {}, 1750000000, 1750000000
    for _, gap in ipairs(gaps) do
      at = at + gap
      local due, reason, when = reprompt.due(kept, options, at, from)
      if due then
        reprompt.asked(kept, options, at)
      else
        t:truthy(reason)
        t:truthy(when > at)
        t:equal(reprompt.due(kept, options, when - 1, from), false)
        t:equal(reprompt.due(kept, options, when, from), true)
      end
    end
  end)
end)

test "without a wait it is refused" (function(t)
  for _, options in ipairs { {}, { after = {} }, { after = "1d" } } do
    t:fails(function() reprompt.next({}, options, 0) end, "`after` is seconds, or a list of them")
  end
end)
