local own = require "own"

-- Pays, each time with another number unless `more` has one; returns why it was refused, or "ok".
local function payer(t)
  local n = 0
  return function(cents, country, more)
    n = n + 1
    local data = { payment = "p" .. n, cents = cents, country = country or "DE" }
    for name, value in pairs(more or {}) do data[name] = value end
    local outcome = t:event("card:1", "card.used", data, { time = more and more.time })
    t:equal(outcome.decisions.payment.allowed, outcome.decisions.payment.why == nil)
    return outcome.decisions.payment.why or "ok"
  end
end

test "five payments in any 60 seconds, and not a sixth" (function(t)
  t:at("2025-11-10T08:00:50Z")
  local pay = payer(t)
  for _ = 1, 5 do t:equal(pay(100), "ok") end
  t:advance("59s")
  t:equal(pay(100), "too_often")
  t:equal(own(t:effects("card:1"))[1].data, { why = "too_often" })
  t:event("card:1", "card.released")
  for _ = 1, 5 do t:equal(pay(100), "ok") end
  t:advance("1m")
  t:equal(pay(100), "ok")
  t:equal(t:query("card:1", "card").payments, 6)
end)

test "2,000 euros in any hour, and not a cent more" (function(t)
  local pay = payer(t)
  t:equal(pay(200000), "ok")
  t:advance("1h")
  t:equal(pay(200000), "ok")
  t:advance("59m59s")
  t:equal(pay(1), "too_much")
end)

test "two countries in a day, not three" (function(t)
  local pay = payer(t)
  t:equal({ pay(1, "DE"), pay(1, "FR"), pay(1, "DE") }, { "ok", "ok", "ok" })
  t:advance("23h59m59s")
  t:equal(pay(1, "JP"), "too_far")
  t:equal(own(t:counters())[1].value, 1)
  t:event("card:1", "card.released")
  t:equal({ pay(1, "DE"), pay(1, "FR") }, { "ok", "ok" })
  t:advance("1d")
  t:equal(pay(1, "JP"), "ok")
end)

test "late and doubled payments count once, at their own time" (function(t)
  t:at("2025-11-10T08:00:00Z")
  local pay = payer(t)
  for _ = 1, 4 do t:equal(pay(100), "ok") end
  t:equal(pay(100, "DE", { payment = "p1" }), "ok")
  t:advance("5m")
  t:equal(pay(100, "DE", { time = "2025-11-10T08:00:10Z" }), "ok")
  t:equal(pay(100, "DE", { time = "2025-11-10T08:00:20Z" }), "too_often")
end)

test "a blocked card is free after a day, or when the bank releases it" (function(t)
  local pay = payer(t)
  t:equal({ pay(200001), pay(1) }, { "too_much", "too_much" })
  t:advance("23h59m59s")
  t:equal(pay(1), "too_much")
  t:advance("1s")
  t:equal(pay(1), "ok")
  t:equal(pay(200001), "too_much")
  t:event("card:1", "card.released")
  t:equal({ pay(1), pay(1, "US") }, { "ok", "ok" })
  t:advance("1d")
  t:equal(#own(t:effects("card:1")), 2)
  t:event("card:2", "card.released")
  t:equal(t:query("card:2", "card"), { payments = 0 })
end)

test "old terminals and suspicious networks are refused, and block nobody" (function(t)
  local pay = payer(t)
  t:each({
    { { terminal = "2.4.0" }, "ok" }, { { terminal = "v2.10.1" }, "ok" }, { { terminal = "2.4.0-rc.1" }, "terminal" },
    { { terminal = "new" }, "terminal" }, { { address = "203.0.113.77" }, "network" },
    { { address = "::ffff:203.0.113.77" }, "network" }, { { address = "198.51.100.1" }, "ok" },
    { { address = "nonsense" }, "ok" },
  }, function(case)
    t:equal(pay(100, "DE", case[1]), case[2])
    t:equal(t:query("card:1", "card").blocked, nil)
  end)
end)

test "a payment from the future hides none of the present" (function(t)
  local pay = payer(t)
  t:equal({ pay(150000, "DE", { time = "2099-01-01T00:00:00Z" }), pay(150000) }, { "ok", "too_much" })
end)
