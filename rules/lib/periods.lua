-- Figures by day and by month: counters that name nobody. A query reads a few days by day, and a year by month.
--
-- The period stands in a counter's name, as in `shop.day.2025-11-10.orders` and `shop.sum.2025-11.orders`, and not in a
-- label. Where a plugin has too many counters, the host counts new ones under another label of the same name, so
-- that a sum is right even then. A query pays for each counter that it reads: what it can do without has a name apart.

local figures = require "figures"

local periods = {}

local date_of = figures.date

--- The figures of a plugin, each of which is kept for so long after it was counted last, such as "426d".
function periods.new(name, keep)
  return { days = name .. ".day.", sums = name .. ".sum.", options = { keep = keep } }
end

--- Adds `n` (1) to a figure of a day and to that of its month.
function periods.add(kept, figure, day, n, labels)
  if n == 0 then return end
  local date = date_of(day)
  count(kept.days .. date .. "." .. figure, labels, n, kept.options)
  count(kept.sums .. date:sub(1, 7) .. "." .. figure, labels, n, kept.options)
end

--- Adds one to a figure of a day alone, such as users, who are not the sum of their days.
function periods.add_to_day(kept, figure, day)
  count(kept.days .. date_of(day) .. "." .. figure, nil, 1, kept.options)
end

--- Adds one to a total of all time.
function periods.add_ever(kept, figure) count(kept.sums .. "ever." .. figure, nil, 1, kept.options) end

-- The common beginning of two periods, which all between them have, too.
local function common(from, to)
  local n = 0
  while n < #from and from:byte(n + 1) == to:byte(n + 1) do n = n + 1 end
  return from:sub(1, n)
end

-- Adds the counters whose names begin with `head` and `prefix` to `rows`, by the period that follows `head`, or under
-- `as`. Returns the rows, and how many counters there are; nil if they are more than `most`.
local function read(head, prefix, rows, most, as)
  local all, start = counters(head .. prefix, most), #head + 1
  if not all then return nil end
  local name, period, figure, row, sums
  for _, counter in ipairs(all) do
    if counter.name ~= name then
      name = counter.name
      period, figure = name:match("^([^.]+)%.(.+)$", start)
      period = as or period
      row = rows[period] or { sums = {} }
      rows[period], sums = row, row.sums
    end
    sums[figure] = (sums[figure] or 0) + counter.value
    if next(counter.labels) then
      row.parts = row.parts or {}
      local parts = row.parts[figure] or {}
      row.parts[figure] = parts
      parts[#parts + 1] = counter
    end
  end
  return rows, #all
end

--- The figures of the months `from` to `to`, such as "2025-11", and perhaps of others, or of all months and all time,
--- under `2025-11` and `ever`: `{ sums = {[figure] = n}, parts = {[figure] = counters} }`, where `parts` are those with
--- labels. They are added to `rows`, if it is given. Returns how many counters these are, too; nil if they are more
--- than `most`.
function periods.sums(kept, from, to, rows, most)
  return read(kept.sums, from and common(from, to) or "", rows or {}, most)
end

--- The same of the dates `from` to `to`, and perhaps of others, by date, or all under the name `as`; the nearer both
--- are, the fewer are read.
function periods.days(kept, from, to, rows, most, as)
  return read(kept.days, common(from, to), rows or {}, most, as)
end

return periods
