-- Arms by weights, a share that grows, holdout, layers, exposure.

local function expose(t, options, key)
  local decided = t:event("user:" .. key, "lib.experiment", { options = options, key = key }).decisions
  return decided.arm, decided.more
end

-- The arms of so many people, by their keys.
local function arms(t, options, people)
  local found = {}
  for i = 1, people do found[i] = expose(t, options, "p" .. i) end
  return found
end

local function tally(found)
  local n = {}
  for _, arm in ipairs(found) do n[arm] = (n[arm] or 0) + 1 end
  return n
end

local BUTTON = { name = "button", arms = { blue = 1, green = 3 } }

test "arms are drawn by their weights, and each person stays in one" (function(t)
  local first = arms(t, BUTTON, 120)
  local n = tally(first)
  t:equal(n.blue + n.green, 120)
  t:truthy(n.blue > 15 and n.blue < 45)
  t:equal(arms(t, BUTTON, 120), first)
  t:equal(arms(t, { name = "button", arms = { red = 1 } }, 120), first) -- whatever the settings are later
end)

test "two experiments are drawn apart" (function(t)
  local other, both = { name = "price", arms = BUTTON.arms }, 0
  for i, arm in ipairs(arms(t, BUTTON, 120)) do
    if arm == "blue" and expose(t, other, "p" .. i) == "blue" then both = both + 1 end
  end
  t:truthy(both > 0 and both < 20)
end)

test "an exposure counts once" (function(t)
  t:equal({ expose(t, { name = "button", arms = { blue = 1 } }, "a") }, { "blue", true })
  t:equal({ expose(t, { name = "button", arms = { blue = 1 } }, "a") }, { "blue", false })
  t:equal(t:state("user:a"), { button = { arm = "blue", exposed = true } })
  t:equal(t:query("user:a", "arm", { name = "button" }).arm, "blue")
  t:equal(t:query("user:b", "arm", { name = "button" }).arm, nil)
end)

test "a share that grows adds people, and moves nobody back" (function(t)
  local before
  for _, share in ipairs { 0.1, 0.4, 1 } do
    local now = arms(t, { name = "button", arms = BUTTON.arms, share = share }, 100)
    for i, arm in ipairs(before or {}) do
      if arm ~= "none" then t:equal(now[i], arm) end
    end
    local n = tally(now)
    t:truthy(math.abs(100 - (n.none or 0) - share * 100) < 20)
    t:truthy(share < 0.4 or n.green > n.blue) -- the share and the arms are drawn apart; ten people may be of one arm
    before = now
  end
  t:equal(arms(t, { name = "button", arms = BUTTON.arms, share = 0 }, 100), before)
  t:equal({ expose(t, { name = "button", arms = BUTTON.arms, share = 0 }, "new") }, { "none", "not_yet" })
end)

test "who is held out is in no experiment" (function(t)
  local out = {}
  for i = 1, 100 do
    local arm, why = expose(t, { name = "button", arms = BUTTON.arms, holdout = 0.2 }, "p" .. i)
    if arm == "none" then
      t:equal(why, "holdout")
      t:equal(expose(t, { name = "price", arms = BUTTON.arms, holdout = 0.2 }, "p" .. i), "none")
      out[#out + 1] = i
    end
  end
  t:truthy(#out > 8 and #out < 35)
  t:equal(tally(arms(t, { name = "none", arms = BUTTON.arms, holdout = 0 }, 50)).none, nil)
end)

test "experiments of one layer have nobody in common, and share all people by their weights" (function(t)
  local layer, n = { name = "cart", weights = { button = 3, price = 1 } }, 0
  for i = 1, 80 do
    local first, why = expose(t, { name = "button", arms = { on = 1 }, layer = layer }, "p" .. i)
    local second = expose(t, { name = "price", arms = { on = 1 }, layer = layer }, "p" .. i)
    t:truthy((first == "on") ~= (second == "on"))
    if first == "none" then t:equal(why, "excluded") else n = n + 1 end
  end
  t:truthy(n > 45 and n < 75)
end)

test "layers are drawn apart" (function(t)
  local both, weights = 0, { a = 1, b = 1 }
  for i = 1, 80 do
    local first = expose(t, { name = "a", arms = { on = 1 }, layer = { name = "x", weights = weights } }, "p" .. i)
    local second = expose(t, { name = "b", arms = { on = 1 }, layer = { name = "y", weights = weights } }, "p" .. i)
    if first == "on" and second == "on" then both = both + 1 end
  end
  t:truthy(both > 8 and both < 34)
end)

test "who is in one experiment is not in those that exclude it" (function(t)
  expose(t, { name = "button", arms = { on = 1 } }, "a")
  local price = { name = "price", arms = { on = 1 }, excludes = { "sound", "button" } }
  t:equal({ expose(t, price, "a") }, { "none", "excluded" })
  t:equal(expose(t, price, "b"), "on")
end)

test "without a key the draw goes by the subject" (function(t)
  local options = { name = "button", arms = { blue = 1, green = 1 } }
  local n = {}
  for i = 1, 40 do
    local arm = t:event("user:" .. i, "lib.experiment", { options = options }).decisions.arm
    n[arm] = (n[arm] or 0) + 1
  end
  t:truthy(n.blue and n.green)
end)

test "a part of the people is from 0 to 1" (function(t)
  for _, options in ipairs { { share = 50 }, { share = -0.1 }, { holdout = 5 } } do
    options.name, options.arms = "b", { on = 1 }
    local failed = t:event("user:1", "lib.experiment", { options = options }).failures[1]
    t:truthy(failed.message:find "experiment: `%a+` is a part of the people, from 0 to 1")
  end
end)
