-- Exact counts could identify a user, so they leave the plugin as ranges.
local bins = {}

local POINTS = { { 100, "0-100" }, { 500, "101-500" }, { 1000, "501-1000" }, { 5000, "1001-5000" } }
local FLIRTS = { { 10, "0-10" }, { 50, "11-50" }, { 100, "51-100" } }

local function within(steps, n, above)
  for _, step in ipairs(steps) do
    if n <= step[1] then return step[2] end
  end
  return above
end

function bins.points(n) return within(POINTS, n, "5000+") end

function bins.flirts(n) return within(FLIRTS, n, "100+") end

return bins
