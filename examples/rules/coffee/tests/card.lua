local own = require "own"

-- Sells so many cups, each on a receipt of its own.
local function sell(t, first, last)
  local outcome
  for n = first, last do outcome = t:event("user:1", "coffee.bought", { receipt = "r" .. n }) end
  return outcome.decisions.card
end

test "ten coffees earn a free one" (function(t)
  t:at("2025-11-10T08:00:00Z")
  t:equal(sell(t, 1, 9), { stamps = 9, free = 0 })
  t:equal(sell(t, 10, 10), { stamps = 0, free = 1 })
  t:equal(own(t:effects("user:1"))[1].data, { until_day = "2025-12-10" })
  t:equal(t:event("user:1", "coffee.redeemed", { receipt = "r11" }).decisions.card, { stamps = 0, free = 0 })
  t:equal(t:event("user:1", "coffee.redeemed", { receipt = "r12" }).decisions.error, "no_free_coffee")
  t:equal(own(t:counters()), {
    { name = "coffee.drunk", labels = { month = "2025-11" }, value = 1 },
    { name = "coffee.earned", labels = { month = "2025-11" }, value = 1 },
  })
end)

test "a receipt counts once, and a large sale may earn several" (function(t)
  t:equal(t:event("user:1", "coffee.bought", { receipt = "a", cups = 20 }).decisions.card, { stamps = 0, free = 2 })
  t:equal(t:event("user:1", "coffee.bought", { receipt = "a", cups = 20 }).decisions.card, { stamps = 0, free = 2 })
  t:each({ none = 0, many = 21 }, function(cups)
    t:equal(t:event("user:1", "coffee.bought", { receipt = "b", cups = cups }).decisions, { error = "cups" })
  end)
end)

test "a free coffee ends with its last day in the shop's zone" (function(t)
  t:at("2025-11-10T08:00:00Z")
  sell(t, 1, 10)
  t:at("2025-12-10T22:59:59Z")
  t:equal(t:query("user:1", "card").free, 1)
  t:advance("1s")
  t:equal(t:query("user:1", "card").free, 0)
  t:equal(t:state("user:1").free, {})
  t:given("user:2", 1, { coffee = { free = { t:now(), t:now() + 1 } } })
  t:equal(t:query("user:2", "card").free, 1)
end)

test "a free coffee is drunk once, and one of the last fifty sales can be taken back" (function(t)
  sell(t, 1, 51)
  for _ = 1, 2 do
    t:equal(t:event("user:1", "coffee.redeemed", { receipt = "a" }).decisions.card, { stamps = 1, free = 4 })
  end
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r1" }).decisions.error, "unknown_receipt")
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r2" }).decisions.card, { stamps = 0, free = 4 })
end)

test "a refund takes back stamps, then what they earned, and then the card owes them" (function(t)
  sell(t, 1, 12)
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r12" }).decisions.card, { stamps = 1, free = 1 })
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r11" }).decisions.card, { stamps = 0, free = 1 })
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r10" }).decisions.card, { stamps = 9, free = 0 })
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r10" }).decisions.error, "unknown_receipt")
  sell(t, 13, 13)
  t:event("user:1", "coffee.redeemed", { receipt = "r14" })
  t:equal(t:event("user:1", "coffee.refunded", { receipt = "r1" }).decisions.card, { stamps = -1, free = 0 })
  t:equal(sell(t, 15, 15), { stamps = 0, free = 0 })
end)

test "who lacks one stamp is reminded after a week, at nine, unless a sale puts it off" (function(t)
  t:at("2025-11-10T15:00:00Z")
  sell(t, 1, 9)
  t:at("2025-11-17T07:59:59Z")
  t:equal(own(t:effects("user:1")), {})
  t:advance("1s")
  t:equal(own(t:effects("user:1"))[1].type, "one_missing")
  t:equal(own(t:effects("user:1"))[1].at, "2025-11-17T08:00:00.000Z")
  sell(t, 10, 19)
  t:advance("6d")
  sell(t, 20, 20)
  t:advance("2w")
  t:equal(#own(t:effects("user:1")), 3)
end)

test "whatever happens, no cup is lost or counted twice" (function(t)
  t:property(10, function(random)
    return random:list(20, function(r)
      local type = r:pick { "coffee.bought", "coffee.refunded", "coffee.redeemed" }
      return { type = type, receipt = "r" .. r:integer(1, 12), cups = r:integer(1, 20) }
    end)
  end, function(events)
    local held, sold = 0, {}
    for _, event in ipairs(events) do
      local data = { receipt = event.receipt, cups = event.type == "coffee.bought" and event.cups or nil }
      local outcome = t:event("user:1", event.type, data).decisions
      if event.type == "coffee.bought" and sold[event.receipt] == nil then
        sold[event.receipt], held = event.cups, held + event.cups
      elseif event.type == "coffee.refunded" and not outcome.error then
        held, sold[event.receipt] = held - sold[event.receipt], false
      end
    end
    local drunk = 0
    for _, counter in ipairs(own(t:counters())) do
      if counter.name == "coffee.drunk" then drunk = counter.value end
    end
    local card = t:query("user:1", "card")
    t:equal(card.stamps + 10 * (card.free + drunk), held)
  end)
end)
