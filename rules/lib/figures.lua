-- Figures that all subjects share, which name nobody: counters by civil day (UTC), and tables of them for queries.

local figures = {}

-- Of too many counters the host counts the further ones without their labels.
local OTHER = "other"

local date_of = calendar.date

--- How long a figure of a day is kept after it was counted last, unless a setting says otherwise: 14 months.
figures.KEEP = "426d"

local CENTURY = 36525 * 86400 -- seconds

--- The declaration of a setting that says how long figures are kept.
function figures.keeping(about)
  return {
    type = "duration", min = 1, max = CENTURY, about = about,
    check = function(keep) return not keep:find(".", 1, true), "its numbers are whole ones" end,
  }
end

--- Adds `n` (1) to the day's counter with these labels; `counting` is the last argument of `count`, such as
--- `{ keep = "400d" }`.
function figures.add(name, at, labels, n, counting)
  labels.day = date_of(at, "UTC")
  count(name, labels, n or 1, counting)
end

--- The date of a day's number, as 2025-11-10.
function figures.date(day) return calendar.date(day * 86400, "UTC") end

--- The number of the day that an argument of a query names, such as 2025-11-01; nil without it.
function figures.day(args, name)
  local text = args[name]
  if text == nil then return nil end
  local good, at = pcall(calendar.parse, tostring(text) .. "T00:00:00Z")
  local day = good and at and calendar.day(at, "UTC")
  if not day or figures.date(day) ~= text then error("`" .. name .. "` is not a date like 2025-11-01", 0) end
  return day
end

--- The numbers of the days `args.from` and `args.to`, nil for one that is missing; without `to`, `latest` is meant.
function figures.range(args, latest)
  local from, to = figures.day(args, "from"), figures.day(args, "to") or latest
  if from and to and from > to then error("`from` is after `to`", 0) end
  return from, to
end

--- The lower edge of the band that a number is in: the last of `edges` that it reaches, or 0.
function figures.band(edges, n)
  local band = 0
  for _, edge in ipairs(edges) do
    if n < edge then break end
    band = edge
  end
  return band
end

--- The edge above each band, by its lower edge, to be made at load: a number below it is still in the band.
function figures.above(edges)
  local above, below = {}, 0
  for _, edge in ipairs(edges) do
    above[below] = edge
    below = edge
  end
  above[below] = math.huge
  return above
end

--- Moves one from a label's value to another, either of which may be nil: how many there are of each.
function figures.move(name, label, from, to)
  if from then count(name, { [label] = from }, -1) end
  if to then count(name, { [label] = to }) end
end

local FIRST, LAST = "", "\xFF" -- before and after every date

-- A list for each day from `from` to `to` that is asked for, false for others; and the days that have one.
local function lists_by_day(from, to)
  local days = {}
  return setmetatable({}, { __index = function(lists, day)
    local list = day >= from and day <= to and {}
    lists[day], days[#days + 1] = list, list and day or nil
    return list
  end }), days
end

--- The counters of a name by day and `label`, in order: `{ day, [label], [member] = value }`, of the days `args.from`
--- to `args.to`, either of which may be nil.
function figures.days(name, label, member, args)
  figures.range(args)
  local lists, days = lists_by_day(args.from or FIRST, args.to or LAST)
  local other, found = { day = OTHER, [label] = OTHER }, array {}
  for _, counter in ipairs(counters(name)) do
    local labels = counter.labels
    local day = labels.day
    if not day then day, labels = OTHER, other end
    local list = lists[day]
    if list then list[#list + 1] = { day = day, [label] = labels[label], [member] = counter.value } end
  end
  table.sort(days)
  for _, day in ipairs(days) do table.move(lists[day], 1, #lists[day], #found + 1, found) end
  return found
end

--- The values of a name's counters by one of their labels, and their sum.
function figures.by(name, label)
  local values, sum = {}, 0
  for _, counter in ipairs(counters(name)) do
    values[counter.labels[label] or OTHER] = counter.value
    sum = sum + counter.value
  end
  return values, sum
end

--- The sums of all counters whose names begin with `prefix`, by the rest of the name; 0 without any count. Of
--- counters by day, only the days `from` to `to`, which are dates or nil.
function figures.sums(prefix, from, to)
  local sums, name, key = setmetatable({}, { __index = function() return 0 end }), nil, nil
  from, to = from or FIRST, to or LAST
  for _, counter in ipairs(counters(prefix)) do
    local day = counter.labels.day
    if counter.name ~= name then
      name = counter.name
      key = name:sub(#prefix + 1)
    end
    if not day or day >= from and day <= to then sums[key] = sums[key] + counter.value end
  end
  return sums
end

--- Per cent, 0 to 100 with one decimal; null of nothing.
function figures.pct(part, whole)
  if whole == 0 then return json.null end
  return math.min(100, math.floor(part * 1000 / whole + 0.5) / 10)
end

--- A mean, an integer where it is whole; null of nothing.
function figures.mean(sum, n)
  if n == 0 then return json.null end
  return sum % n == 0 and sum // n or sum / n
end

return figures
