-- The plugin's own effects, messages and counters.

local own = require "own"

test "own are the plugin's effects, messages and counters, not those of another one" (function(t)
  local outcome = t:event("user:1", "lib.pair")
  t:equal(#own(outcome), 2)
  for _, effect in ipairs(outcome.effects) do effect.plugin = "library" end
  t:equal(own(outcome.effects), {})
  t:equal(own { { type = "lib.told" }, { type = "library.told" } }, { { type = "lib.told" } })
  t:equal(own { { name = "lib.n" }, { name = "library.n" } }, { { name = "lib.n" } })
end)
