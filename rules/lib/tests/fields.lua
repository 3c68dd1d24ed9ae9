-- Lists of what came last.
local fields = require "fields"

test "a list of the last ones has each once, and the first makes room" (function(t)
  local list, first
  for _, name in ipairs { "a", "b", "a", "c" } do list, first = fields.with(list, name, 2) end
  t:equal({ list, first }, { { "a", "c" }, "b" })
  t:equal({ fields.with(nil, "a", 1) }, { { "a" } })
  t:equal({ fields.without({ "a", "b" }, "c"), fields.without({ "a", "b" }, "a") }, { { "a", "b" }, { "b" } })
  t:equal({ fields.without({ "a" }, "a"), fields.without(nil, "a") }, {})
end)
