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

local function add_sums(n, more, prefix)
  for figure, value in pairs(more.sums) do
    if prefix then figure = prefix .. figure end
    n[figure] = (n[figure] or 0) + value
  end
end

--- A row of no days, from `first` on, perhaps with errors.
function rows.new(first, with_errors)
  return { first = first, last = first - 1, n = {}, errors = with_errors and codes.none() or nil, wau = 0 }
end

--- Adds a row to another one, which then ends with it.
function rows.add(sum, row)
  add_sums(sum.n, { sums = row.n })
  if sum.errors then codes.add_all(sum.errors, row.errors) end
  sum.last, sum.wau = row.last, row.wau
end

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

-- A function that reads a group of figures of the months, by day where `is_daily(month)`.
local function loader(months, is_daily)
  return function(group)
    local all, whole = {}, {}
    for _, month in ipairs(months) do
      if is_daily(month) then
        periods.days(group, date_of(month.first), date_of(month.last), all)
      else
        whole[#whole + 1] = month.name
      end
    end
    if whole[1] then periods.sums(group, whole[1], whole[#whole], all) end
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

-- The rows to fill: one for each day, or one for each month.
local function empty(months, by_day, with_errors)
  local list = {}
  for _, month in ipairs(months) do
    for first = month.first, by_day and month.last or month.first do
      local row = rows.new(first, with_errors)
      row.last = by_day and first or month.last
      row.month, row.is_whole = not by_day and month.name or nil, month.is_whole
      list[#list + 1] = row
    end
  end
  return list
end

--- The rows of the days `from` to `to`, by day or by month, perhaps with errors; the counters of users by date; and how
--- many users had `reached` each step by the last day.
function rows.read(from, to, by_day, with_errors)
  local today, months = calendar.day(now(), "UTC"), months_of(from, to)
  local function is_daily(span) return by_day or not span.is_whole end
  local function is_open(span) return is_daily(span) or span.last + LONGEST > today end
  local load = loader(months, is_daily)
  local all, cohorts = load(sums.figures), loader(months, is_open)(sums.cohorts)
  local reached, users = read_reached(months, is_daily), periods.days(sums.users, date_of(from), date_of(to))
  local errors = with_errors and codes.read(load)
  local list = empty(months, by_day, with_errors)
  for _, row in ipairs(list) do
    each_period(row, is_daily(row), function(period)
      add_sums(row.n, all[period] or NONE)
      add_sums(row.n, reached[period] or NONE, "reached.")
      if errors then codes.add_period(row.errors, errors, period) end
    end)
    each_period(row, is_open(row), function(period, day) add_cohort(row.n, cohorts[period] or NONE, day, today) end)
    add_users(row, users)
  end
  return list, users, reached_by(reached, months[#months])
end

return rows
