-- The board: the counters of a day and those of all time, shared by all users. No counter has a subject.

local figures = require "figures"

local board = {}

--- Adds `n` (1) to a figure of a day.
function board.add(figure, day, n, labels)
  if n ~= 0 then figures.add_monthly("analytics.", figure, day, n, labels) end
end

--- Adds one to a figure that is read as an all-time total.
function board.add_ever(figure, day) count("analytics.ever." .. figure, { day = figures.date(day) }) end

--- The figures of the days, by date: `{[date] = {figures = {[figure] = n}, errors = {{type, code, count}}}}`.
function board.read(from, to)
  local read = {}
  figures.each_monthly("analytics.", from, to, function(figure, labels, value)
    local on = read[labels.day] or { figures = {}, errors = {} }
    read[labels.day] = on
    if labels.code then
      on.errors[#on.errors + 1] = { type = labels.type, code = labels.code, count = value }
    else
      on.figures[figure] = (on.figures[figure] or 0) + value
    end
  end)
  return read
end

--- All-time totals: `{[figure] = {[date] = n}}`.
function board.read_ever()
  local read, prefix = {}, "analytics.ever."
  for _, counter in ipairs(counters(prefix)) do
    local figure = counter.name:sub(#prefix + 1)
    read[figure] = read[figure] or {}
    read[figure][counter.labels.day] = counter.value
  end
  return read
end

return board
