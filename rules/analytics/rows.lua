-- What the counters have on a span of days, in rows: one for each day of a short span, one for each month of a long
-- one. A row is `{ first, last, n = {[figure] = n}, errors = {[key] = {type, code, count}}, wau }`. Whole months are
-- read from their sums, so that a year costs little more than a month.

local figures = require "figures"
local periods = require "periods"
local sums    = require "sums"

local rows = {}

local NONE = {}
local date_of = figures.date

local function add_sums(n, more)
  for figure, value in pairs(more) do n[figure] = (n[figure] or 0) + value end
end

local function add_error(errors, type, code, count)
  local key = type .. " " .. code
  local known = errors[key]
  if known then known.count = known.count + count else errors[key] = { type = type, code = code, count = count } end
end

local function add_period(row, period)
  add_sums(row.n, period.sums or NONE)
  for _, part in ipairs(period.parts and period.parts.errors or NONE) do
    add_error(row.errors, part.labels.type or "other", part.labels.code or "other", part.value)
  end
end

-- Adds the users of a day. Installs count for retention once the day has come on which they may come back.
local function add_users(row, users, day, today)
  local n, installs = row.n, users.installs
  row.wau = users.wau or 0
  add_sums(n, users)
  if not installs then return end
  for _, after in ipairs(settings.retention_days) do
    if day + after <= today then n["due." .. after] = (n["due." .. after] or 0) + installs end
  end
end

--- Adds a row to another one, which then ends with it.
function rows.add(sum, row)
  add_sums(sum.n, row.n)
  for _, one in pairs(row.errors) do add_error(sum.errors, one.type, one.code, one.count) end
  sum.last, sum.wau = row.last, row.wau
end

--- A row of no days, from `first` on.
function rows.new(first) return { first = first, last = first - 1, n = {}, errors = {}, wau = 0 } end

-- The months that the days are in: `{ name, first, last, is_whole }`.
local function months_of(from, to)
  local months, day = {}, from
  while day <= to do
    local month = { name = date_of(day):sub(1, 7), first = day }
    local next_one = calendar.day(calendar.add(day * 86400, { months = 1 }, "UTC"), "UTC")
    next_one = next_one - tonumber(date_of(next_one):sub(9)) + 1
    month.last = math.min(next_one - 1, to)
    month.is_whole = date_of(day):sub(9) == "01" and month.last == next_one - 1
    months[#months + 1] = month
    day = next_one
  end
  return months
end

-- The row of the days `first` to `last`, out of their counters, or without these, which the caller then adds.
local function row_of(first, last, daily, all, today)
  local row = rows.new(first)
  row.last = last
  for day = first, last do
    local date = date_of(day)
    if daily then add_period(row, daily[date] or NONE) end
    add_users(row, all[date] and all[date].sums or NONE, day, today)
  end
  return row
end

local function row_of_month(month, daily, all, today)
  local row = row_of(month.first, month.last, daily, all, today)
  if not daily then add_period(row, all[month.name] or NONE) end
  row.month = month.name
  return row
end

-- The users by the steps that they had reached at the end of the last month, of which `daily` are the days.
local function reached(all, last, daily)
  local ever, end_of = {}, date_of(last.last)
  local function take(period)
    for figure in pairs(ever) do ever[figure] = ever[figure] - (period.sums[figure] or 0) end
  end
  for figure, users in pairs(all.ever and all.ever.sums or NONE) do ever[figure] = users end
  for name, period in pairs(all) do
    if #name == #last.name and name > last.name then take(period) end
  end
  for date, period in pairs(daily or NONE) do
    if date > end_of then take(period) end
  end
  return ever
end

--- The rows of the days `from` to `to`, by day or by month; the counters of users by date; and how many users had
--- `reached` each step by the last day.
function rows.read(from, to, by_day)
  local all, today, list, daily = periods.sums(sums), calendar.day(now(), "UTC"), {}, nil
  local months = months_of(from, to)
  for _, month in ipairs(months) do
    daily = (by_day or not month.is_whole) and periods.days(sums, month.name) or nil
    if by_day then
      for day = month.first, month.last do list[#list + 1] = row_of(day, day, daily, all, today) end
    else
      list[#list + 1] = row_of_month(month, daily, all, today)
    end
  end
  return list, all, reached(all, months[#months], daily)
end

return rows
