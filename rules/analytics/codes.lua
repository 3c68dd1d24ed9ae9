-- Errors by type and code. A client's codes make counters, as many as it likes, so a query reads them only where they
-- are not too many, and else how many errors there are.

local figures = require "figures"
local periods = require "periods"
local sums    = require "sums"

local codes = {}

local OTHER = "other"
local NONE = {}

-- The type and the code under which an error counts: of each user so many different ones a day, further ones as
-- `other`.
local function counted_as(state, today, kind, code)
  local seen = state.codes
  if not seen or seen.day ~= today then
    seen = { day = today, n = 0, types = {} }
    state.codes = seen
  end
  local known = seen.types[kind]
  if known and known[code] then return kind, code end
  if seen.n >= settings.codes_a_day then return known and kind or OTHER, OTHER end
  seen.n = seen.n + 1
  seen.types[kind] = known or {}
  seen.types[kind][code] = true
  return kind, code
end

--- Counts an error that a user saw.
function codes.add(state, today, kind, code)
  kind, code = counted_as(state, today, kind, code)
  periods.add(sums.errors, "codes", today, 1, { type = kind, code = code })
  periods.add(sums.figures, "errors", today)
end

--- No errors yet: a list of them, and each by its type and its code.
function codes.none() return { list = array {}, types = {} } end

local function add(into, kind, code, n)
  local known = into.types[kind]
  if not known then
    known = {}
    into.types[kind] = known
  end
  local one = known[code]
  if one then
    one.count = one.count + n
  else
    one = { type = kind, code = code, count = n }
    known[code], into.list[#into.list + 1] = one, one
  end
end

--- Adds the errors of a period to those of a row: those of `read`, or, without it, so many of any code.
function codes.add_period(into, read, period, n)
  if not read then
    if n then add(into, OTHER, OTHER, n) end
    return
  end
  local parts = read[period] and read[period].parts
  for _, one in ipairs(parts and parts.codes or NONE) do
    add(into, one.labels.type or OTHER, one.labels.code or OTHER, one.value)
  end
end

--- Adds the errors of a row to those of another.
function codes.add_all(into, errors)
  for _, one in ipairs(errors.list) do add(into, one.type, one.code, one.count) end
end

local function is_commoner(a, b)
  if a.count ~= b.count then return a.count > b.count end
  if a.type ~= b.type then return a.type < b.type end
  return a.code < b.code
end

--- The errors of a row, the most common first, of so many requests.
function codes.listed(errors, requests)
  for _, one in ipairs(errors.list) do one.pct = figures.pct(one.count, requests) end
  table.sort(errors.list, is_commoner)
  return errors.list
end

return codes
