-- The carts that so many users see.
local function carts(t, n)
  local seen = {}
  for i = 1, n do
    local button = t:event("user:" .. i, "cart.opened").decisions.button
    seen[button] = (seen[button] or 0) + 1
  end
  return seen
end

-- How many users are exposed to the button.
local function exposed(t)
  local arms, sum = t:query(nil, "results", { experiment = "button" }), 0
  for _, arm in pairs(arms) do sum = sum + arm.exposed end
  return sum
end

test "a user sees one arm, and is exposed once" (function(t)
  t:settings { shares = { button = 1 }, holdout = 0 }
  local first = t:event("user:2", "cart.opened").decisions.button
  t:equal(t:event("user:2", "cart.opened").decisions.button, first)
  local seen = carts(t, 200)
  t:truthy(seen.green > 30 and seen.green < 70, "half of half of the people") -- the other half is shipping's
  t:truthy(math.abs(exposed(t) - 100) < 25)
  t:equal(t:query(nil, "results", { experiment = "button" }).green, { exposed = seen.green, orders = 0, cents = 0 })
end)

test "the arms have the people that their weights say" (function(t)
  t:settings { shares = { button = 1, shipping = 1 }, holdout = 0 }
  for i = 1, 600 do
    t:event("user:" .. i, "cart.opened")
    t:event("user:" .. i, "checkout.opened")
  end
  local button = t:query(nil, "results", { experiment = "button" })
  t:truthy(math.abs(button.blue.exposed - button.green.exposed) < 50, "one to one")
  local shipping = t:query(nil, "results", { experiment = "shipping" })
  t:truthy(math.abs(shipping["490"].exposed - 2 * shipping["0"].exposed) < 60, "two to one")
end)

test "a share that grows adds people and moves nobody, and 0 adds none" (function(t)
  t:settings { shares = { button = 0.2 }, holdout = 0 }
  carts(t, 100)
  local before, few = {}, exposed(t)
  for i = 1, 100 do before[i] = t:state("user:" .. i).experiments end
  t:settings { shares = { button = 1 }, holdout = 0 }
  carts(t, 100)
  t:truthy(exposed(t) > few and few > 0)
  for i, kept in ipairs(before) do
    if kept.button then t:equal(t:state("user:" .. i).experiments, kept) end
  end
  local many = exposed(t)
  t:settings { shares = { button = 0 }, holdout = 0 }
  for i = 101, 120 do t:equal(t:event("user:" .. i, "cart.opened").decisions.button, "blue") end
  carts(t, 100)
  t:equal(exposed(t), many)
end)

test "nobody meets both experiments, and who is held out meets none" (function(t)
  t:settings { shares = { button = 1, shipping = 1 }, holdout = 0 }
  for i = 1, 50 do
    t:event("user:" .. i, "cart.opened")
    t:event("user:" .. i, "checkout.opened")
    local kept = t:state("user:" .. i).experiments
    t:truthy((kept.button == nil) ~= (kept.shipping == nil))
  end
  t:settings { holdout = 1 }
  t:equal(t:event("user:new", "checkout.opened").decisions, { shipping = "490" })
  t:equal(t:state("user:new").experiments, {})
end)

test "orders of the exposed count for their arm, once, and for some days" (function(t)
  local kept = { button = { arm = "green", exposed = true } }
  t:given("user:1", 1, { experiments = { experiments = kept, exposures = { button = t:now() } } })
  local function pay(order, cents) t:event("user:1", "order.paid", { order = order, cents = cents }) end
  t:event("user:2", "order.paid", { order = "o1", cents = 900 })
  pay("o1", 1000)
  pay("o1", 1000)
  pay("o2", 500)
  t:equal(t:query(nil, "results", { experiment = "button" }), { green = { exposed = 0, orders = 2, cents = 1500 } })
  t:advance("13d")
  pay("o3", 500)
  t:equal(t:query(nil, "results", { experiment = "button" }).green.orders, 3)
  t:advance("1d")
  pay("o4", 500)
  t:equal(t:query(nil, "results", { experiment = "button" }).green.orders, 3)
  t:equal(t:query(nil, "results", { experiment = "shipping" }), {})
end)
