-- Bins: an exact count could identify a user, so it leaves only as a range.

local bins = {}

local function label(edges, i)
  if i > #edges then return edges[#edges] .. "+" end
  return (i == 1 and 0 or edges[i - 1] + 1) .. "-" .. edges[i]
end

--- The bin of a count; a bin is returned unchanged.
function bins.of(which, count)
  if type(count) == "string" then return count end
  local edges = settings.bins[which]
  local i = 1
  while i <= #edges and count > edges[i] do i = i + 1 end
  return label(edges, i)
end

function bins.is_bin(which, text)
  local edges = settings.bins[which]
  for i = 1, #edges + 1 do
    if text == label(edges, i) then return true end
  end
  return false
end

return bins
