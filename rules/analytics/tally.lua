-- Adds an accepted report to the figures of its day.

local codes    = require "codes"
local measures = require "measures"
local periods  = require "periods"
local sums     = require "sums"

local NONE = {}

local function holds(where, properties)
  for key, value in pairs(where or NONE) do
    if properties[key] ~= value then return false end
  end
  return true
end

return function(state, name, properties, today)
  for _, add in ipairs(measures.counts[name] or NONE) do
    local n = add.sum and properties[add.sum]
    if holds(add.where, properties) then periods.add(sums.figures, add.figure, today, n) end
  end
  local errors = measures.errors
  if name == errors.event then codes.add(state, today, properties[errors.type], properties[errors.code]) end
end
