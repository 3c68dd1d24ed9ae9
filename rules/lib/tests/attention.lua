-- One budget of messages: caps, quiet hours, hours in which to send, a digest; and the way over all plugins.

local attention = require "attention"

local function answer(...) return { ... } end
local function at(text) return calendar.parse("2025-11-" .. text .. ":00+01:00") end

local ZONE = "Europe/Berlin"

test "caps drop what is too much, of all and of a kind" (function(t)
  local kept = {}
  local options = { caps = { { n = 3, seconds = 100 } }, kinds = { like = { { n = 1, seconds = 50 } } } }
  t:equal(answer(attention.judge(kept, options, 0, { kind = "like" })), { "send" })
  t:equal(answer(attention.judge(kept, options, 1, { kind = "like" })), { "drop", "kind_cap" })
  t:equal(attention.judge(kept, options, 2, { kind = "news" }), "send")
  t:equal(attention.judge(kept, options, 50, { kind = "like" }), "send")
  t:equal(answer(attention.judge(kept, options, 99, { kind = "news" })), { "drop", "cap" })
  t:equal(attention.judge(kept, options, 100, { kind = "news" }), "send")
  t:equal(kept, { sent = { 2, 50, 100 }, kinds = { like = { 50 } } })
end)

test "an urgent message is always sent, and counts" (function(t)
  local kept = {}
  local options = { caps = { { n = 1, seconds = 100 } }, quiet = { from = "22:00", to = "08:00", zone = ZONE } }
  t:equal(attention.judge(kept, options, at "10T23:00", { kind = "alarm", urgent = true }), "send")
  t:equal(attention.judge(kept, options, at "10T23:00", { kind = "alarm", urgent = true }), "send")
  t:equal(kept.sent, { at "10T23:00" })
  t:equal(attention.judge({}, {}, 0, { kind = "news" }), "send")
end)

test "quiet hours and hours in which to send hold a message" (function(t)
  local quiet = { quiet = { from = "22:00", to = "08:00", zone = ZONE } }
  local kept = {}
  t:equal(answer(attention.judge(kept, quiet, at "10T23:00", { kind = "news", key = "n", data = { a = 1 } })),
    { "hold", "quiet", at "11T08:00" })
  t:equal(kept.waiting, { { kind = "news", key = "n", data = { a = 1 }, reason = "quiet", till = at "11T08:00" } })
  t:equal(attention.judge({}, quiet, at "10T12:00", { kind = "news" }), "send")
  local window = { window = { from = "09:00", to = "18:00", zone = ZONE } }
  t:equal(answer(attention.judge({}, window, at "10T20:00", { kind = "news" })), { "hold", "window", at "11T09:00" })
  t:equal(attention.judge({}, window, at "10T12:00", { kind = "news" }), "send")
end)

test "a message replaces the one that waits under its key" (function(t)
  local kept, options = {}, { quiet = { from = "22:00", to = "08:00", zone = ZONE }, most_waiting = 3 }
  for _, key in ipairs { "a", "b", "a" } do
    attention.judge(kept, options, at "10T23:00", { kind = "news", key = key, data = { n = #(kept.waiting or {}) } })
  end
  t:equal(#kept.waiting, 2)
  attention.judge(kept, options, at "10T23:00", { kind = "plain" })
  t:equal({ #kept.waiting, kept.waiting[1].key, kept.waiting[2].key, kept.waiting[2].data.n }, { 3, "b", "a", 2 })
  t:equal(answer(attention.judge(kept, options, at "10T23:00", { kind = "plain" })),
    { "hold", "quiet", at "11T08:00", { kind = "news", key = "b", data = { n = 1 }, reason = "full" } })
  t:equal({ #kept.waiting, kept.waiting[1].key }, { 3, "a" })
  local none = { quiet = options.quiet, most_waiting = 0 }
  local last = { kind = "news", data = 7 }
  t:equal(select(4, attention.judge({}, none, at "10T23:00", last)), { kind = "news", data = 7, reason = "full" })
  local many = {}
  for _ = 1, 51 do attention.judge(many, { quiet = options.quiet }, at "10T23:00", { kind = "plain" }) end
  t:equal(#many.waiting, 50)
end)

test "a message that leaves replaces the one that waits under its key, too" (function(t)
  local kept, options = {}, { quiet = { from = "22:00", to = "08:00", zone = ZONE } }
  attention.judge(kept, options, at "10T23:00", { kind = "parcel", key = "p", data = "on its way" })
  attention.judge(kept, options, at "10T23:30", { kind = "parcel", key = "p", data = "here", urgent = true })
  t:equal({ attention.due(kept), attention.release(kept, options, at "11T08:00") }, { nil, array {}, array {} })
end)

test "a digest that is dropped says what was in it" (function(t)
  local kept = {}
  local options = {
    digest = { kinds = { "like" }, at = "18:00", zone = ZONE }, kinds = { digest = { { n = 0, seconds = 86400 } } },
  }
  attention.judge(kept, options, at "10T12:00", { kind = "like", key = "l" })
  local _, dropped = attention.release(kept, options, at "10T18:00")
  t:equal(dropped, { { kind = "digest", items = { { kind = "like", key = "l" } }, reason = "kind_cap" } })
end)

test "what waited leaves in order as far as the caps allow, and the rest is told" (function(t)
  local kept = {}
  local options = { caps = { { n = 1, seconds = 3600 } }, quiet = { from = "22:00", to = "08:00", zone = ZONE } }
  for _, kind in ipairs { "first", "second" } do
    attention.judge(kept, options, at "10T23:00", { kind = kind, key = kind, data = { of = kind } })
  end
  t:equal(attention.due(kept), at "11T08:00")
  t:equal(answer(attention.release(kept, options, at "11T07:59")), { array {}, array {} })
  local leaving, dropped = attention.release(kept, options, at "11T08:00")
  t:equal(leaving, { { kind = "first", key = "first", data = { of = "first" } } })
  t:equal(dropped, { { kind = "second", key = "second", data = { of = "second" }, reason = "cap" } })
  t:equal({ attention.due(kept), kept.waiting, kept.sent }, { nil, nil, { at "11T08:00" } })
  t:equal(answer(attention.release({}, options, at "11T08:00")), { array {}, array {} })
end)

test "a message waits on where it is still too early" (function(t)
  local kept = {}
  attention.judge(kept, { quiet = { from = "22:00", to = "06:00", zone = ZONE } }, at "10T23:00", { kind = "news" })
  local later = { quiet = { from = "22:00", to = "08:00", zone = ZONE } }
  t:equal(attention.release(kept, later, at "11T06:00"), array {})
  t:equal({ attention.due(kept), kept.waiting[1].reason }, { at "11T08:00", "quiet" })
  t:equal(attention.release(kept, later, at "11T08:00"), { { kind = "news" } })
  local full = { quiet = later.quiet, most_waiting = 1 }
  local early = { quiet = { from = "22:00", to = "06:00", zone = ZONE } }
  for _, kind in ipairs { "first", "second" } do attention.judge(kept, early, at "11T23:00", { kind = kind }) end
  t:equal(answer(attention.release(kept, full, at "12T06:00")), { array {}, { { kind = "first", reason = "full" } } })
end)

test "a digest is one message of many" (function(t)
  local options = {
    digest = { kinds = { "like", "comment" }, at = "18:00", zone = ZONE }, caps = { { n = 1, seconds = 86400 } },
    window = { from = "09:00", to = "17:00", zone = ZONE },
  }
  local kept = {}
  t:equal(answer(attention.judge(kept, options, at "10T17:59", { kind = "like", key = "l", data = { by = "bob" } })),
    { "hold", "digest", at "10T18:00" })
  t:equal(answer(attention.judge(kept, options, at "10T18:00", { kind = "comment" })),
    { "hold", "digest", at "11T18:00" })
  t:equal(attention.judge({}, options, at "10T12:00", { kind = "news" }), "send")
  attention.judge(kept, options, at "10T17:59", { kind = "comment" })
  t:equal(attention.due(kept), at "10T18:00")
  t:equal(attention.release(kept, options, at "10T18:00"), {
    { kind = "digest", items = { { kind = "like", key = "l", data = { by = "bob" } }, { kind = "comment" } } },
  })
  t:equal(#kept.waiting, 1)
  local _, dropped = attention.release(kept, options, at "11T17:59")
  t:equal(dropped, array {})
  t:equal(#attention.release(kept, options, at "11T18:00"), 1)
end)

test "a plugin asks, and another one keeps the budget" (function(t)
  t:at "2025-11-10T12:00:00+01:00"
  local function ask(kind)
    return t:event("user:1", "lib.message", { kind = kind, data = { n = 1 } }).decisions.verdict
  end
  t:equal({ ask "a", ask "b" }, { { verdict = "send" }, { verdict = "send" } })
  t:equal(ask "c", { verdict = "drop", reason = "cap" })
  t:at "2025-11-10T23:00:00+01:00"
  t:equal(ask "d", { verdict = "hold", reason = "quiet" })
  t:at "2025-11-11T08:00:00+01:00"
  local sent = {}
  for i, effect in ipairs(t:effects("user:1")) do sent[i] = effect.type end
  t:equal(sent, { "a", "b", "d" })
end)

test "no hour and no day sends more than its cap, and nothing is lost without a reason" (function(t)
  t:property(80, function(random)
    return random:list(40, function(r)
      return { gap = r:integer(0, 7200), kind = r:pick { "like", "news", "alarm" } }
    end)
  end, function(messages)
    local options = {
      caps = { { n = 2, seconds = 3600 }, { n = 5, seconds = 86400 } },
      quiet = { from = "22:00", to = "08:00", zone = ZONE }, most_waiting = 3,
    }
    local kept, clock, sent, asked, gone = {}, 1762732800, {}, 0, 0
    local function release(moment)
      local leaving, dropped = attention.release(kept, options, moment)
      for _ = 1, #leaving do sent[#sent + 1] = moment end
      for _, one in ipairs(dropped) do t:truthy(one.reason) end
      gone = gone + #dropped
    end
    for _, message in ipairs(messages) do
      clock = clock + message.gap
      local due = attention.due(kept)
      if due and due <= clock then release(due) end
      local verdict, reason, till, oldest = attention.judge(kept, options, clock, { kind = message.kind })
      asked = asked + 1
      if oldest then gone = gone + 1 end
      t:equal(verdict == "send", reason == nil)
      t:equal(verdict == "hold", till ~= nil and till > clock)
      if verdict == "send" then sent[#sent + 1] = clock elseif verdict == "drop" then gone = gone + 1 end
    end
    t:equal(#sent + gone + #(kept.waiting or {}), asked)
    for _, cap in ipairs(options.caps) do
      for i = 1, #sent - cap.n do t:truthy(sent[i + cap.n] - sent[i] >= cap.seconds) end
    end
  end)
end)
