-- Caps: at most so often in so long, `{ { n = 3, seconds = 86400 }, … }`. Only as many moments are kept as they need.

local caps = {}

local options = require "options"

local NONE = {}

local function check(cap)
  options.need("caps", "n", cap.n, options.count)
  if cap.n > 0 then options.need("caps", "seconds", cap.seconds, options.length) end
end

--- The moment from which all caps allow one more, after those of `times`; 0 if they allow it at any time, infinity if
--- one of them allows none.
function caps.free(list, times)
  local at = 0
  for _, cap in ipairs(list or NONE) do
    check(cap)
    if cap.n == 0 then return math.huge end
    local nth = times and times[#times - cap.n + 1]
    if nth then at = math.max(at, nth + cap.seconds) end
  end
  return at
end

--- The times with one more; nil if no cap needs them.
function caps.note(list, times, at)
  local longest = 0
  for _, cap in ipairs(list or NONE) do
    check(cap)
    longest = math.max(longest, cap.n)
  end
  if longest == 0 then return nil end
  times = times or array {}
  times[#times + 1] = at
  if #times > longest then table.remove(times, 1) end
  return times
end

return caps
