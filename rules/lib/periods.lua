-- Figures by day and by month: counters that name nobody. A query reads a few days by day, and a year by month.
--
-- The period stands in a counter's name, as in `shop.day.2025-11-10.orders` and `shop.sum.2025-11.orders`, and not in a
-- label. Where a plugin has too many counters, the host counts new ones under another label of the same name, so
-- that a sum is right even then.

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

--- Adds one to a figure that a query needs by day even of a year, such as users, who are not the sum of their days.
function periods.add_to_day(kept, figure, day)
  count(kept.sums .. date_of(day) .. "." .. figure, nil, 1, kept.options)
end

--- Adds one to a total of all time.
function periods.add_ever(kept, figure) count(kept.sums .. "ever." .. figure, nil, 1, kept.options) end

-- The counters whose names begin with `prefix`, by the period that follows `head`.
local function read(prefix, head)
  local rows, start = {}, #head + 1
  for _, counter in ipairs(counters(prefix)) do
    local period, figure = counter.name:match("^([^.]+)%.(.+)$", start)
    local row = rows[period]
    if not row then
      row = { sums = {}, parts = {} }
      rows[period] = row
    end
    row.sums[figure] = (row.sums[figure] or 0) + counter.value
    if next(counter.labels) then
      local parts = row.parts[figure] or {}
      row.parts[figure] = parts
      parts[#parts + 1] = counter
    end
  end
  return rows
end

--- The figures by month, by the days of `add_to_day` and of all time, under `2025-11`, `2025-11-10` and `ever`:
--- `{ sums = {[figure] = n}, parts = {[figure] = counters} }`, where `parts` are those with labels.
function periods.sums(kept) return read(kept.sums, kept.sums) end

--- The figures of a month's days, by date.
function periods.days(kept, month) return read(kept.days .. month .. "-", kept.days) end

return periods
