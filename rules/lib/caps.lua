-- Caps: at most so often in so long, `{ { n = 3, seconds = 86400 }, … }`. Only as many moments are kept as they need.

local caps = {}

local fields = require "fields"

local NONE = {}

--- The moment from which all caps allow one more, after those of `times`; 0 if they allow it at any time, infinity if
--- one of them allows none.
function caps.free(list, times)
  local at = 0
  for _, cap in ipairs(list or NONE) do
    if cap.n == 0 then return math.huge end
    local seconds = fields.seconds("caps", cap)
    local nth = times and times[#times - cap.n + 1]
    if nth then at = math.max(at, nth + seconds) end
  end
  return at
end

--- The times with one more; nil if no cap needs them.
function caps.note(list, times, at)
  local longest = 0
  for _, cap in ipairs(list or NONE) do longest = math.max(longest, cap.n) end
  if longest == 0 then return nil end
  times = times or array {}
  times[#times + 1] = at
  if #times > longest then table.remove(times, 1) end
  return times
end

return caps
