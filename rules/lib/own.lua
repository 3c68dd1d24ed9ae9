-- For tests of a plugin: its own effects in an outcome or a list, and its own messages and counters, whose types and
-- names begin with its name. Another plugin, such as a copy of it, may hear the same events.

return function(outcome)
  local list = array {}
  for _, one in ipairs(outcome.effects or outcome) do
    if (one.plugin or (one.type or one.name):match("^[^.]+")) == plugin.name then list[#list + 1] = one end
  end
  return list
end
