-- Lists of what came last, and whole numbers.
local fields = require "fields"

test "a list of the last ones has each once, and the first makes room" (function(t)
  local list, first
  for _, name in ipairs { "a", "b", "a", "c" } do list, first = fields.with(list, name, 2) end
  t:equal({ list, first }, { { "a", "c" }, "b" })
  t:equal({ fields.with(nil, "a", 1) }, { { "a" } })
  t:equal({ fields.without({ "a", "b" }, "c"), fields.without({ "a", "b" }, "a") }, { { "a", "b" }, { "b" } })
  t:equal({ fields.without({ "a" }, "a"), fields.without(nil, "a") }, {})
end)

test "a whole number beyond 64 bits is no integer" (function(t)
  t:equal({ fields.whole(2.0), fields.whole(math.mininteger) }, { 2, math.mininteger })
  for _, value in ipairs { 1.5, 9223372036854775808, -9223372036854775809, 1e300, "2" } do
    t:equal(fields.whole(value), nil)
  end
end)
