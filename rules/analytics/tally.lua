-- Adds an accepted report to the figures of its day.

local measures = require "measures"
local periods  = require "periods"
local sums     = require "sums"

local OTHER = "other"
local NONE = {}

local function holds(where, properties)
  for key, value in pairs(where or NONE) do
    if properties[key] ~= value then return false end
  end
  return true
end

-- The type and the code under which an error counts: of each user so many different ones a day, further ones as
-- `other`. So nobody makes counters without end.
local function counted_as(state, today, kind, code)
  local seen = state.codes
  if not seen or seen.day ~= today then
    seen = { day = today, n = 0, types = {} }
    state.codes = seen
  end
  local codes = seen.types[kind]
  if codes and codes[code] then return kind, code end
  if seen.n >= settings.codes_a_day then return codes and kind or OTHER, OTHER end
  seen.n = seen.n + 1
  seen.types[kind] = codes or {}
  seen.types[kind][code] = true
  return kind, code
end

return function(state, name, properties, today)
  for _, add in ipairs(measures.counts[name] or NONE) do
    if holds(add.where, properties) then periods.add(sums, add.figure, today, add.sum and properties[add.sum]) end
  end
  local errors = measures.errors
  if name == errors.event then
    local kind, code = counted_as(state, today, properties[errors.type], properties[errors.code])
    periods.add(sums, "errors", today, 1, { type = kind, code = code })
  end
end
