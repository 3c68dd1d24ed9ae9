-- The board: counters shared by all users. A counter is named by month and figure and labelled with its day, so that a
-- query reads only the months that it needs. No counter has a subject.

local board = {}

local function date(day) return calendar.date(day * 86400, "UTC") end

board.date = date

--- Adds `n` (1) to a figure of a day.
function board.add(figure, day, n, labels)
  if n == 0 then return end
  local on = date(day)
  local all = { day = on }
  for key, value in pairs(labels or {}) do all[key] = value end
  count("analytics." .. on:sub(1, 7) .. "." .. figure, all, n or 1)
end

--- Adds one to a figure that is read as an all-time total.
function board.add_ever(figure, day) count("analytics.ever." .. figure, { day = date(day) }) end

--- The figures of the days, by date: `{[date] = {figures = {[figure] = n}, errors = {{type, code, count}}}}`.
function board.read(from, to)
  local read, day = {}, from
  while day <= to do
    local month = date(day):sub(1, 7)
    local prefix = "analytics." .. month .. "."
    for _, counter in ipairs(counters(prefix)) do
      local labels, figure = counter.labels, counter.name:sub(#prefix + 1)
      local on = read[labels.day] or { figures = {}, errors = {} }
      read[labels.day] = on
      if labels.code then
        on.errors[#on.errors + 1] = { type = labels.type, code = labels.code, count = counter.value }
      else
        on.figures[figure] = (on.figures[figure] or 0) + counter.value
      end
    end
    repeat day = day + 1 until day > to or date(day):sub(1, 7) ~= month
  end
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
