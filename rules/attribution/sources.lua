-- How many installs came from where, by civil day (UTC): counters that all devices share, which identify nobody.

local sources = {}

local COUNTER = "attribution.installs"

local function is_counted(name)
  for _, known in ipairs(settings.counted_sources) do
    if name == known then return true end
  end
  return false
end

-- One of few names: a link may hold any text, and each name is a counter of its own.
local function name_of(attribution, is_facebook)
  if is_facebook then return "facebook" end
  if not attribution.utm_source then return "organic" end
  local name = text.lower(attribution.utm_source)
  return is_counted(name) and name or "other"
end

function sources.count_install(attribution, is_facebook)
  count(COUNTER, { day = calendar.date(now(), "UTC"), source = name_of(attribution, is_facebook) })
end

--- The query `attribution.installs`: `{installs: [{day, source, count}]}`, in order of day and source.
function sources.installs()
  local found = array {}
  for _, counter in ipairs(counters(COUNTER)) do
    found[#found + 1] = { day = counter.labels.day, source = counter.labels.source, count = counter.value }
  end
  table.sort(found, function(left, right)
    if left.day ~= right.day then return left.day < right.day end
    return left.source < right.source
  end)
  return { installs = found }
end

return sources
