-- What happens once: by key, by who was first, by window, and pairs of effects with one id.

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

--- Keeps the first value under a name. Returns what is kept, and whether it is this one. A value for which
--- `better(value, kept)` holds replaces what is kept.
function dedup.first(kept, name, value, better)
  local held = kept[name]
  if held ~= nil and not (better and better(value, held)) then return held, false end
  kept[name] = value
  return value, true
end

-- Forgets the keys whose window has passed; returns how many are left, and the oldest of them.
local function purge(kept, seconds, at)
  local left, oldest = 0, nil
  for key, seen in pairs(kept) do
    if seen <= at - seconds then
      kept[key] = nil
    else
      left = left + 1
      if not oldest or seen < kept[oldest] then oldest = key end
    end
  end
  return left, oldest
end

--- True unless the key was seen in the last `options.seconds`. A late event is judged by its own time. `kept` holds
--- `options.most` keys (100); the oldest make room.
function dedup.window(kept, options, at, key)
  local seen = kept[key]
  if seen and math.abs(at - seen) < options.seconds then return false end
  local left, oldest = purge(kept, options.seconds, at)
  if left >= (options.most or 100) and not kept[key] then kept[oldest] = nil end
  kept[key] = math.max(at, seen or at)
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
