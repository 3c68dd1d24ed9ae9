-- Figures by day, by month and of all time.
local figures = require "figures"
local periods = require "periods"

test "a figure counts for its day and its month, a user for the day alone" (function(t)
  for _, one in ipairs { { "2025-11-30", 2 }, { "2025-12-01", 3 }, { "2025-12-01", 0 } } do
    t:event("user:1", "lib.periods", { day = calendar.day(calendar.parse(one[1] .. "T00:00:00Z"), "UTC"), n = one[2] })
  end
  local read = t:query(nil, "periods", { from = "2025-12-01", to = "2025-12-31" })
  t:equal(read.sums["2025-11"].sums, { sold = 2, ["sold.books"] = 2 })
  t:equal(read.sums["2025-12"].sums, { sold = 3, ["sold.books"] = 3 })
  t:equal(read.sums.ever.sums, { orders = 3 })
  t:equal(read.days, { ["2025-12-01"] = { sums = { sold = 3, ["sold.books"] = 3, buyers = 2 }, parts = {
    sold = { { name = "lib.day.2025-12-01.sold", labels = { shop = "one" }, value = 3 } },
  } } })
end)

test "the figures of some months, or of some days, are read without most of the others" (function(t)
  for _, date in ipairs { "2024-12-31", "2025-11-09", "2025-11-10", "2025-11-11" } do
    t:event("user:1", "lib.periods", { day = calendar.day(calendar.parse(date .. "T00:00:00Z"), "UTC"), n = 1 })
  end
  local function read(args)
    local found, names = t:query(nil, "periods", args), { array {}, array {} }
    for i, rows in ipairs { found.sums, found.days } do
      for name in pairs(rows) do names[i][#names[i] + 1] = name end
      table.sort(names[i])
    end
    return names
  end
  t:equal(read { from = "2025-11-10", to = "2025-11-11", months = { "2025-11", "2025-12" } },
    { { "2025-11" }, { "2025-11-10", "2025-11-11" } })
  t:equal(read { from = "2025-11-10", to = "2025-11-10", months = { "2024-12", "2024-12" } },
    { { "2024-12" }, { "2025-11-10" } })
end)

test "figures are read only where they are at most so many" (function(t)
  for _, date in ipairs { "2025-11-09", "2025-11-10" } do
    t:event("user:1", "lib.periods", { day = calendar.day(calendar.parse(date .. "T00:00:00Z"), "UTC"), n = 1 })
  end
  local function read(most)
    local found = t:query(nil, "periods", { from = "2025-11-10", to = "2025-11-10", most = most })
    return { found.days ~= nil, found.counters }
  end
  t:equal({ read(3), read(2) }, { { true, 3 }, { false } })
end)

test "figures are kept for so long" (function(t)
  local kept = periods.new("shop", "2d")
  t:equal({ kept.days, kept.sums, kept.options.keep }, { "shop.day.", "shop.sum.", "2d" })
  t:event("user:1", "lib.periods", { day = 20000, n = 1 })
  t:advance("2d")
  t:equal(t:counters(), array {})
end)

test "a figure of a day is kept as long as the one who counts it says" (function(t)
  t:at "2025-11-10T12:00:00Z"
  t:event("device:1", "lib.figures")
  t:equal(#t:query(nil, "figures").days, 2)
  t:advance(figures.KEEP)
  t:equal(#t:query(nil, "figures").days, 1)
end)

test "figures by day take the days that a query asks for, and refuse what is no date" (function(t)
  for _, at in ipairs { "2025-11-10T12:00:00Z", "2025-11-11T12:00:00Z" } do
    t:at(at)
    t:event("device:1", "lib.figures")
  end
  t:equal(#t:query(nil, "figures", { from = "2025-11-11", to = "2025-11-11" }).days, 1)
  t:equal(#t:query(nil, "figures", { to = "2025-11-10" }).days, 1)
  for _, text in ipairs { "2025-11-1", "2025-02-30", 7, "yesterday" } do
    t:fails(function() t:query(nil, "figures", { from = text }) end, "`from` is not a date like 2025%-11%-01")
  end
end)

test "figures say what the host counts of too many counters as other" (function(t)
  t:at "2025-11-10T12:00:00Z"
  for _ = 1, 2 do t:event("device:1", "lib.figures") end
  t:equal(t:query(nil, "figures"), {
    days = { { day = "2025-11-10", source = "ads", n = 2 }, { day = "other", source = "other", n = 2 } },
    values = { ads = 2, other = 2 }, sum = 4,
  })
end)
