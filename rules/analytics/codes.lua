-- Errors by type and code. A client's codes make counters, as many as it likes, so a query reads them only where they
-- are not too many. Beside them each error counts in one of a few slots by its code: the more different codes there
-- are, the more slots are taken.

local figures = require "figures"
local periods = require "periods"
local sums    = require "sums"

local codes = {}

local OTHER = "other"
local SLOTS = 128
local MOST = 3000   -- codes that a query reads, over all its days or months
local NONE = { sums = {}, parts = {} }

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
  periods.add(sums.slots, tostring(bucket("codes", kind .. " " .. code) * SLOTS // 1 | 0), today)
end

-- About how many codes took the slots of a period.
local function estimate(slots)
  local free = SLOTS
  for _ in pairs(slots) do free = free - 1 end
  return free > 0 and SLOTS * math.log(SLOTS / free) or math.huge
end

--- The errors of the periods that `load` reads of a group: `{ slots, codes }`, without the codes if they are too many.
function codes.read(load)
  local slots, n = load(sums.slots), 0
  for _, period in pairs(slots) do n = n + estimate(period.sums) end
  return { slots = slots, codes = n <= MOST and load(sums.errors) or nil }
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

--- Adds the errors of a period to those of a row.
function codes.add_period(into, read, period)
  if not read.codes then
    for _, n in pairs((read.slots[period] or NONE).sums) do add(into, OTHER, OTHER, n) end
    return
  end
  for _, one in ipairs((read.codes[period] or NONE).parts.codes or NONE) do
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
