-- Events that count once: by key, by the first one, by window; and pairs of effects with one id.

local fields = require "fields"
local options_of = require "options"

local dedup = {}

local LONGEST_KEY = 256 -- bytes of a key of `once`

--- One key for several parts, of which only the last may be nil; if too long, a digest after a short first part.
function dedup.key(first, ...)
  local key = json.encode(array { first, ... })
  if #key <= LONGEST_KEY then return key end
  local head, digest = type(first) == "table" and "" or tostring(first) .. ":", hash.sha256(key)
  return #head + #digest <= LONGEST_KEY and head .. digest or digest
end

--- True the first time for these parts, whatever they hold: `once` with a key of any length.
function dedup.once(...) return once(dedup.key(...)) end

--- Keeps the first value under a name. Returns the kept value, and whether it is this one. A value for which
--- `better(value, kept)` holds replaces the kept one.
function dedup.first(kept, name, value, better)
  local held = kept[name]
  if held ~= nil and not (better and better(value, held)) then return held, false end
  kept[name] = value
  return value, true
end

-- The times at which a key counted, in order; a single one is kept without a list.
local function times_of(kept, key) return type(kept[key]) == "table" and kept[key] or { kept[key] } end

local function keep(kept, key, times) kept[key] = times[2] and times or times[1] end

-- Forgets times up to `since`; returns how many keys are left, and the one whose last time is the oldest.
local function purge(kept, since)
  local left, oldest, before = 0, nil, nil
  for key in pairs(kept) do
    local times = times_of(kept, key)
    while times[1] and times[1] <= since do table.remove(times, 1) end
    keep(kept, key, times)
    local last = times[#times]
    if last then
      left = left + 1
      if not before or last < before then oldest, before = key, last end
    end
  end
  return left, oldest
end

--- True unless the key counted less than `options.seconds` before `at`, or after it: of one key, no two events count
--- that are closer, in whatever order they come. That holds for events up to `seconds` behind the newest of any key; an
--- older one may count again. `kept` holds `options.most` keys (100); the oldest make room.
function dedup.window(kept, options, at, key)
  options_of.need("dedup", "seconds", options.seconds, options_of.length)
  options_of.may("dedup", "most", options.most, options_of.some)
  local seconds = options.seconds
  key = fields.name(key)
  for _, time in ipairs(times_of(kept, key)) do
    if math.abs(at - time) < seconds then return false end
  end
  local left, oldest = purge(kept, at - 2 * seconds)
  if left >= (options.most or 100) and not kept[key] then kept[oldest] = nil end
  local times = times_of(kept, key)
  times[#times + 1] = at
  table.sort(times)
  if times[3] then table.remove(times, 1) end -- more don't fit into twice `seconds`
  keep(kept, key, times)
  return true
end

--- Emits one effect to each sink of `effects`, `{[sink] = data}`, all with one new id as the member `member`.
function dedup.pair(type, member, effects)
  local id = uuid()
  for sink, data in pairs(effects) do
    data[member] = id
    emit(sink, type, data)
  end
  return id
end

return dedup
