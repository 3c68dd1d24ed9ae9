local own = require "own"

local function sign_up(t, friend, referrer) return t:event(friend, "user.signed_up", { referrer = referrer }) end

local function buy(t, friend, order, cents)
  return t:event(friend, "order.paid", { order = order, cents = cents or 2000 })
end

-- The types of a user's effects.
local function told(t, subject)
  local types = array {}
  for _, effect in ipairs(own(t:effects(subject))) do types[#types + 1] = effect.type end
  return types
end

test "a friend's first order pays, once it can't be given back any more" (function(t)
  t:at("2025-10-20T10:00:00Z")
  sign_up(t, "user:bob", "user:ada")
  buy(t, "user:bob", "o1")
  t:at("2025-11-03T10:59:59Z") -- the clocks were put back: 14 days are an hour longer
  t:equal(told(t, "user:ada"), { "friend_joined" })
  t:advance("1s")
  t:equal(told(t, "user:ada"), { "friend_joined", "credit" })
  t:equal(own(t:effects("user:ada"))[2].data, { cents = 500, friend = "user:bob" })
  t:equal(t:query("user:ada", "friends"), { joined = 1, paid = 1 })
  buy(t, "user:bob", "o2")
  t:advance("4w")
  t:equal(#told(t, "user:ada"), 2)
end)

test "an order that is given back pays nothing, the next one does" (function(t)
  sign_up(t, "user:bob", "user:ada")
  buy(t, "user:bob", "o0", 0)
  buy(t, "user:bob", "o1", 1)
  t:advance("1d")
  buy(t, "user:bob", "o2")
  t:event("user:bob", "order.returned", { order = "o2" })
  t:equal(t:state("user:bob").order, "o1")
  t:event("user:bob", "order.returned", { order = "o1" })
  t:advance("4w")
  t:equal(t:query("user:ada", "friends"), { joined = 1, paid = 0 })
  buy(t, "user:bob", "o3")
  t:advance("4w")
  t:equal(t:query("user:ada", "friends").paid, 1)
end)

test "nobody brings themselves, or who is here already" (function(t)
  sign_up(t, "user:ada", "user:ada")
  sign_up(t, "user:bob")
  sign_up(t, "user:bob", "user:ada")
  sign_up(t, "user:cy", "user:ada")
  sign_up(t, "user:cy", "user:bob")
  t:equal(t:query("user:ada", "friends").joined, 1)
  t:equal(t:query("user:bob", "friends"), { joined = 0, paid = 0 })
end)

test "no client can forge a conversion, and a pair is paid once" (function(t)
  t:each({ "referral.joined", "referral.kept", "referral.converted" }, function(type)
    t:fails(function() t:event("user:ada", type, { order = "o1" }) end, "only rules make")
  end)
  sign_up(t, "user:bob", "user:ada")
  for _ = 1, 2 do
    t:given("user:bob", 1, { referrals = { referrer = "user:ada" } })
    buy(t, "user:bob", "o1")
    t:advance("3w")
  end
  t:equal(t:query("user:ada", "friends").paid, 1)
end)

test "an empty referrer is none" (function(t)
  t:equal(sign_up(t, "user:bob", "").failures, {})
end)

test "each month has its leaders" (function(t)
  t:at("2025-11-01T12:00:00Z")
  for n, referrer in ipairs { "user:ada", "user:eve", "user:ada" } do
    sign_up(t, "user:friend" .. n, referrer)
    buy(t, "user:friend" .. n, "o" .. n)
  end
  t:advance("2w")
  t:equal(t:query(nil, "leaders", { month = "2025-11", who = "user:eve" }), {
    top = { { subject = "user:ada", score = 2, rank = 1 }, { subject = "user:eve", score = 1, rank = 2 } }, rank = 2,
  })
  t:equal(t:query(nil, "leaders", { month = "2025-12" }), { top = {} })
  t:equal(own(t:counters()), { { name = "referrals.converted", labels = { month = "2025-11" }, value = 3 } })
  for n = 4, 12 do
    sign_up(t, "user:friend" .. n, "user:" .. n)
    buy(t, "user:friend" .. n, "o" .. n)
  end
  t:advance("2w")
  t:equal(#t:query(nil, "leaders", { month = "2025-11" }).top, 10)
end)
