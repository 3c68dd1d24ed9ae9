-- The query `kpis {from, to}`: the key figures of each civil day (UTC) from `from` to `to`, both included, and of all
-- together. `to` defaults to today, `from` to `to`. A long range has them by month, without errors, and of its days the
-- users alone. With `errors = false` errors are left out, and their counters are not read.

local figures     = require "figures"
local key_figures = require "key_figures"
local rows        = require "rows"

local name = plugin.name .. ".kpis: "

local function range_of(args)
  local from, to = figures.range(args, calendar.day(now(), "UTC"))
  from = from or to
  local longest = settings.longest_range_days
  if to - from + 1 > longest then error(name .. "a range has at most " .. longest .. " days", 0) end
  return from, to
end

local function add_all(sum, more, factor)
  for figure in pairs(sum) do sum[figure] = sum[figure] + factor * (more[figure] or 0) end
end

-- The figures of each row; the users had `reached` their steps by the end of the last one.
local function figures_of(list, sum, steps, reached)
  local all = array {}
  add_all(reached, sum.n, -1)
  for i, row in ipairs(list) do
    add_all(reached, row.n, 1)
    all[i] = key_figures.of(row, steps, reached)
    all[i].month, all[i].day = row.month, not row.month and figures.date(row.first) or nil
  end
  return all
end

local function users_of(from, to, users)
  local days = array {}
  for day = from, to do
    local date = figures.date(day)
    local n = users[date] and users[date].sums or {}
    days[#days + 1] = { day = date, dau = n.dau or 0, wau = n.wau or 0 }
  end
  return days
end

return function(_, args)
  local from, to = range_of(args)
  local by_day = to - from + 1 <= settings.daily_range_days
  local with_errors = args.errors ~= false
  local list, sum, users, reached = rows.read(from, to, by_day, with_errors)
  local steps = key_figures.steps(reached)
  local range = key_figures.of(sum, steps, reached)
  range.from, range.to = figures.date(from), figures.date(to)
  local each = figures_of(list, sum, steps, reached)
  if by_day then return { days = each, range = range } end
  return { days = users_of(from, to, users), months = each, range = range }
end
