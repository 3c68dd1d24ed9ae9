-- What the counters have on a span of days, in rows: one for each day of a short span, one for each month of a long
-- one. A row is `{ first, last, n = {[figure] = n}, errors = {[key] = {type, code, count}}, wau }`. Whole months are
-- read from their sums, so that a year costs little more than a month.

local figures  = require "figures"
local periods  = require "periods"
local sums     = require "sums"

local rows = {}

local NONE = { sums = {}, parts = {} }
local date_of = figures.date

local function add_errors(row, type, code, n)
  local key = type .. " " .. code
  local known = row.errors[key]
  if not known then
    known = { type = type, code = code, count = 0 }
    row.errors[key] = known
  end
  known.count = known.count + n
end

local function add_period(row, period)
  local n = row.n
  for figure, value in pairs(period.sums) do n[figure] = (n[figure] or 0) + value end
  for _, part in ipairs(period.parts.errors or NONE) do
    add_errors(row, part.labels.type or "other", part.labels.code or "other", part.value)
  end
end

-- Adds the users of a day. Installs count for retention once the day has come on which they may come back.
local function add_users(row, users, day, today)
  local n, installs = row.n, users.installs or 0
  for figure, value in pairs(users) do n[figure] = (n[figure] or 0) + value end
  for _, after in ipairs(settings.retention_days) do
    if day + after <= today then n["due." .. after] = (n["due." .. after] or 0) + installs end
  end
  row.wau = users.wau or 0
end

--- Adds a row to another one, which then ends with it.
function rows.add(sum, row)
  for figure, value in pairs(row.n) do sum.n[figure] = (sum.n[figure] or 0) + value end
  for _, one in pairs(row.errors) do add_errors(sum, one.type, one.code, one.count) end
  sum.last, sum.wau = row.last, row.wau
end

--- A row of no days, from `first` on.
function rows.new(first) return { first = first, last = first - 1, n = {}, errors = {}, wau = 0 } end

-- The months that the days are in: `{ name, first, last, is_whole }`.
local function months_of(from, to)
  local months = {}
  for day = from, to do
    local name = date_of(day):sub(1, 7)
    local month = months[#months]
    if not month or month.name ~= name then
      month = { name = name, first = day }
      months[#months + 1] = month
    end
    month.last = day
  end
  for _, month in ipairs(months) do
    month.is_whole = date_of(month.first):sub(9) == "01" and date_of(month.last + 1):sub(9) == "01"
  end
  return months
end

local function row_of_days(first, last, daily, all, today)
  local row = rows.new(first)
  for day = first, last do
    local date = date_of(day)
    if daily then add_period(row, daily[date] or NONE) end
    add_users(row, (all[date] or NONE).sums, day, today)
  end
  row.last = last
  return row
end

local function rows_of(month, daily, all, today, by_day)
  if not by_day then
    local row = row_of_days(month.first, month.last, daily, all, today)
    if not daily then add_period(row, all[month.name] or NONE) end
    row.month = month.name
    return { row }
  end
  local days = {}
  for day = month.first, month.last do days[#days + 1] = row_of_days(day, day, daily, all, today) end
  return days
end

-- The users by the steps that they had reached at the end of the last month, of which `daily` are the days.
local function reached(all, last, daily)
  local ever, end_of = {}, date_of(last.last)
  local function take(period)
    for figure in pairs(ever) do ever[figure] = ever[figure] - (period.sums[figure] or 0) end
  end
  for figure, users in pairs((all.ever or NONE).sums) do ever[figure] = users end
  for name, period in pairs(all) do
    if #name == #last.name and name > last.name then take(period) end
  end
  for date, period in pairs(daily or {}) do
    if date > end_of then take(period) end
  end
  return ever
end

--- The rows of the days `from` to `to`, by day or by month; `users` of each of these days, by date; and who had
--- `reached` what by the last one.
function rows.read(from, to, by_day)
  local all, today, list, daily = periods.sums(sums), calendar.day(now(), "UTC"), {}, nil
  local months = months_of(from, to)
  for _, month in ipairs(months) do
    daily = (by_day or not month.is_whole) and periods.days(sums, month.name) or nil
    for _, row in ipairs(rows_of(month, daily, all, today, by_day)) do list[#list + 1] = row end
  end
  return list, all, reached(all, months[#months], daily)
end

return rows
