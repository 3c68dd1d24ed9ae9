-- The query `analytics.kpis {from, to}`: the key figures of each civil day (UTC) from `from` to `to`, both included,
-- and of all together. `to` defaults to today, `from` to `to`.

local board       = require "board"
local figures     = require "figures"
local key_figures = require "key_figures"

local function day_of(text, argument)
  local good, at = pcall(calendar.parse, tostring(text) .. "T00:00:00Z")
  if not good or not at or figures.date(calendar.day(at, "UTC")) ~= text then
    error("analytics.kpis: `" .. argument .. "` is not a date like 2025-11-01", 0)
  end
  return calendar.day(at, "UTC")
end

local function range_of(args)
  local to = args.to ~= nil and day_of(args.to, "to") or calendar.day(now(), "UTC")
  local from = args.from ~= nil and day_of(args.from, "from") or to
  if from > to then error("analytics.kpis: `from` is after `to`", 0) end
  local longest = settings.longest_range_days
  if to - from + 1 > longest then error("analytics.kpis: a range has at most " .. longest .. " days", 0) end
  return from, to
end

-- The installs of a day that are at least that many days old.
local function due_of(installs, day, today)
  local due = {}
  for _, after in ipairs(settings.retention_days) do due[after] = day + after <= today and installs or 0 end
  return due
end

local function add_all(sum, more)
  for key, value in pairs(more) do sum[key] = (sum[key] or 0) + value end
end

local function add_errors(sum, by_key, errors)
  for _, one in ipairs(errors) do
    local key = one.type .. " " .. one.code
    if not by_key[key] then
      by_key[key] = { type = one.type, code = one.code, count = 0 }
      sum[#sum + 1] = by_key[key]
    end
    by_key[key].count = by_key[key].count + one.count
  end
end

-- The totals before the first day; each day then adds its own.
local function reached_before(totals, first)
  local ever = {}
  for figure, by_date in pairs(totals) do
    ever[figure] = 0
    for date, n in pairs(by_date) do
      if date < first then ever[figure] = ever[figure] + n end
    end
  end
  return ever
end

return function(_, args)
  local from, to = range_of(args)
  local read, totals, today = board.read(from, to), board.read_ever(), calendar.day(now(), "UTC")
  local ever = reached_before(totals, figures.date(from))
  local days, sum, errors, by_key, due, window = array {}, {}, {}, {}, {}, 0
  for day = from, to do
    local date = figures.date(day)
    local on = read[date] or { figures = {}, errors = {} }
    for figure, by_date in pairs(totals) do ever[figure] = ever[figure] + (by_date[date] or 0) end
    local due_here = due_of(on.figures.installs or 0, day, today)
    window = on.figures.wau or 0
    local figure = key_figures(on.figures, on.errors, 1, window, ever, due_here)
    figure.day = date
    days[#days + 1] = figure
    add_all(sum, on.figures)
    add_all(due, due_here)
    add_errors(errors, by_key, on.errors)
  end
  local range = key_figures(sum, errors, to - from + 1, window, ever, due)
  range.from, range.to = figures.date(from), figures.date(to)
  return { days = days, range = range }
end
