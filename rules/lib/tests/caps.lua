-- So often in so long.

local caps = require "caps"

local TWO_A_MINUTE = { { n = 2, seconds = 60 }, { n = 3, seconds = 600 } }

test "caps allow one more when the oldest that counts is long enough ago" (function(t)
  t:equal(caps.free(TWO_A_MINUTE, nil), 0)
  t:equal(caps.free(TWO_A_MINUTE, { 100 }), 0)
  t:equal(caps.free(TWO_A_MINUTE, { 100, 110 }), 160)
  t:equal(caps.free(TWO_A_MINUTE, { 100, 110, 200 }), 700)
  t:equal(caps.free(nil, { 1, 2, 3 }), 0)
end)

test "only as many moments are kept as the caps need" (function(t)
  local times
  for at = 1, 5 do times = caps.note(TWO_A_MINUTE, times, at) end
  t:equal(times, { 3, 4, 5 })
  t:equal(caps.note(nil, nil, 5), nil)
  t:equal(caps.note({}, { 1 }, 5), nil)
end)

test "no window ever holds more than its cap" (function(t)
  t:property(60, function(random)
    return random:list(40, function(r) return r:integer(0, 90) end)
  end, function(gaps)
    local at, times, sent = 0, nil, {}
    for _, gap in ipairs(gaps) do
      at = at + gap
      if at >= caps.free(TWO_A_MINUTE, times) then
        times = caps.note(TWO_A_MINUTE, times, at)
        sent[#sent + 1] = at
      end
    end
    for _, cap in ipairs(TWO_A_MINUTE) do
      for i = 1, #sent - cap.n do t:truthy(sent[i + cap.n] - sent[i] >= cap.seconds) end
    end
  end)
end)

test "a cap without a length is refused, before it is reached too" (function(t)
  t:fails(function() caps.free({ { n = 3 } }, nil) end, "caps: `seconds` is a number above 0")
  t:equal(caps.free({ { n = 0 } }, nil), math.huge)
end)
