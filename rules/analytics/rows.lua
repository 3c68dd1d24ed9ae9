-- Rows of figures, out of the counters: of a day, or of a month in a long range. Whole months are read from their sums,
-- so that a year costs little more than a month.

local codes   = require "codes"
local figures = require "figures"
local periods = require "periods"
local sums    = require "sums"

local rows = {}

local NONE = { sums = {} }
local date_of = figures.date
local AFTER = settings.retention_days
local LONGEST = AFTER[#AFTER] or 0
local MOST, MOST_BY_DAY = 1900, 6000   -- counters of an answer by month, and by day, beyond which errors have no codes

local function add_sums(n, more, prefix)
  for figure, value in pairs(more.sums) do
    if prefix then figure = prefix .. figure end
    n[figure] = (n[figure] or 0) + value
  end
end

-- A row of no days, from `first` on, perhaps with errors.
local function new(first, with_errors)
  return { first = first, last = first - 1, n = {}, errors = with_errors and codes.none() or nil, wau = 0 }
end

-- Adds a row to another one, which then ends with it.
local function append(sum, row)
  add_sums(sum.n, { sums = row.n })
  if row.errors then codes.add_all(sum.errors, row.errors) end
  sum.last, sum.wau = row.last, row.wau
end

-- The months that the days are in: `{ name, first, last, is_whole }`. That of today is whole so far.
local function months_of(from, to, today)
  local months, day = {}, from
  while day <= to do
    local month = { name = date_of(day):sub(1, 7), first = day }
    local next_one = calendar.day(calendar.add(day * 86400, { months = 1 }, "UTC"), "UTC")
    next_one = next_one - tonumber(date_of(next_one):sub(9)) + 1
    month.last = math.min(next_one - 1, to)
    month.is_whole = date_of(day):sub(9) == "01" and month.last >= math.min(next_one - 1, today)
    months[#months + 1] = month
    day = next_one
  end
  return months
end

-- A function that reads a group of figures of the months: where `is_daily(month)` by day, or the days as the first one,
-- else the month's sums. Nil if that makes more than `most` counters, with those that it has read before.
local function reader(months)
  local n = 0
  local function read(period, group, from, to, all, most, as)
    local found, more = period(group, from, to, all, most and math.max(0, most - n), as)
    n = n + (more or 0)
    return found
  end
  local function read_days(group, month, all, most, as)
    local more = month.is_whole and month.last - month.first or 0
    for day = month.first, month.last, more + 1 do
      if not read(periods.days, group, date_of(day), date_of(day + more), all, most, as) then return nil end
    end
    return all
  end
  return function(group, is_daily, most, as_one)
    local all = {}
    for _, month in ipairs(months) do
      local found
      if is_daily(month) then
        found = read_days(group, month, all, most, as_one and date_of(month.first))
      else
        found = read(periods.sums, group, month.name, month.name, all, most)
      end
      if not found then return nil end
    end
    return all
  end
end

-- Calls `add` with each period of a row's days, its name and its first day.
local function each_period(row, is_daily, add)
  if not is_daily then return add(row.month, row.first) end
  for day = row.first, row.last do add(date_of(day), day) end
end

local function add_users(row, users)
  each_period(row, true, function(date)
    local n = (users[date] or NONE).sums
    row.n.dau = (row.n.dau or 0) + (n.dau or 0)
    row.wau = n.wau or 0
  end)
end

-- Adds the installs of a period, which count for retention once the day has come on which they may come back.
local function add_cohort(n, cohort, day, today)
  add_sums(n, cohort)
  local installs = cohort.sums.installs
  if not installs then return end
  for _, after in ipairs(AFTER) do
    if day + after <= today then n["due." .. after] = (n["due." .. after] or 0) + installs end
  end
end

-- The users by the steps of ladders: of each period, of all time, and of all days after the months.
local function read_reached(months, is_daily)
  local all = periods.sums(sums.reached)
  for i, month in ipairs(months) do
    if is_daily(month) then
      local till = i == #months and month.name .. "-31" or date_of(month.last)
      periods.days(sums.reached, date_of(month.first), till, all)
    end
  end
  return all
end

-- The users by the steps that they had reached at the end of the last month's days.
local function reached_by(all, month)
  local reached, last = {}, date_of(month.last)
  add_sums(reached, all.ever or NONE, "reached.")
  for name, period in pairs(all) do
    if #name == #last and name > last or #name == #month.name and name > month.name then
      for figure, users in pairs(period.sums) do
        figure = "reached." .. figure
        reached[figure] = (reached[figure] or 0) - users
      end
    end
  end
  return reached
end

-- The rows to fill: one for each day, perhaps with errors, or one for each month.
local function empty(months, by_day, with_errors)
  local list = {}
  for _, month in ipairs(months) do
    for first = month.first, by_day and month.last or month.first do
      local row = new(first, by_day and with_errors)
      row.last = by_day and first or month.last
      row.month, row.is_whole = not by_day and month.name or nil, month.is_whole
      list[#list + 1] = row
    end
  end
  return list
end

--- The rows of the days `from` to `to`, by day or by month, and their sum, perhaps with errors, which months don't
--- have; the counters of users by date; and how many users had `reached` each step by the last day.
function rows.read(from, to, by_day, with_errors)
  local today = calendar.day(now(), "UTC")
  local months = months_of(from, to, today)
  local function is_daily(span) return by_day or not span.is_whole end
  local function is_open(span) return is_daily(span) or span.last + LONGEST > today end
  local read, most = reader(months), by_day and MOST_BY_DAY or MOST
  local all, cohorts = read(sums.figures, is_daily, nil, not by_day), read(sums.cohorts, is_open)
  local users = read(sums.users, function() return true end)
  local errors = with_errors and read(sums.errors, is_daily, most, not by_day)
  local reached = read_reached(months, is_daily)
  local list, sum = empty(months, by_day, with_errors), new(from, with_errors)
  for _, row in ipairs(list) do
    local period = is_daily(row) and date_of(row.first) or row.month
    add_sums(row.n, all[period] or NONE)
    each_period(row, is_daily(row), function(name) add_sums(row.n, reached[name] or NONE, "reached.") end)
    each_period(row, is_open(row), function(name, day) add_cohort(row.n, cohorts[name] or NONE, day, today) end)
    if with_errors then codes.add_period(row.errors or sum.errors, errors, period, row.n.errors) end
    add_users(row, users)
    append(sum, row)
  end
  return list, sum, users, reached_by(reached, months[#months])
end

return rows
