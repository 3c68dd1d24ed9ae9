-- The figures that accepted reports count, and the key figures made of them: figures.json, which is checked at load.

local plan = require "plan"

local file, measures = data "figures.json", {}
for _, group in ipairs { "counts", "session_counts", "switches", "levels", "ladders", "errors", "key_figures" } do
  measures[group] = file[group] or {}
end

-- The figures that are counted whatever the file says.
local counted = { dau = true, sessions = true }

local function properties(place, event)
  local of = plan.events[event]
  return assert(of, "figures.json: " .. place .. ": the plan has no event '" .. tostring(event) .. "'")
end

local function property(place, event, name)
  local of = properties(place, event)[name]
  return assert(of, "figures.json: " .. place .. ": " .. event .. " has no property '" .. tostring(name) .. "'")
end

local function check_counts(event, adds)
  properties("counts", event)
  for _, add in ipairs(adds) do
    local place = "counts." .. event .. "." .. add.figure
    for name in pairs(add.where or {}) do property(place, event, name) end
    local of = add.sum and property(place, event, add.sum)
    local is_bounded = not of or of.max and not of.open
    assert(is_bounded, "figures.json: " .. place .. ": the plan does not bound " .. tostring(add.sum))
    counted[add.figure] = true
  end
end

local function check_figure(place, of)
  local figure = of.sum or of.mean or of.pct
  if type(figure) ~= "string" then
    for name, inner in pairs(of) do check_figure(place .. "." .. name, inner) end
    return
  end
  for _, name in ipairs { figure, table.unpack(of.of or {}) } do
    assert(counted[name], "figures.json: " .. place .. ": nothing counts '" .. tostring(name) .. "'")
  end
end

for event, adds in pairs(measures.counts) do check_counts(event, adds) end
for _, group in ipairs { "switches", "levels", "ladders" } do
  for name, of in pairs(measures[group]) do property(group .. "." .. name, of.event, of.property) end
end
if file.errors then
  property("errors", file.errors.event, file.errors.type)
  property("errors", file.errors.event, file.errors.code)
  check_figure("errors", { sum = file.errors.of })
end
for name, of in pairs(measures.key_figures) do check_figure("key_figures." .. name, of) end

return measures
