-- Bins: an exact count could identify somebody, so it leaves only as a range, such as 101-500.

local bins = {}

--- Bins by their upper edges; counts above the last one are "5000+".
function bins.new(edges)
  local made, below = { edges = edges, labels = {} }, -1
  for i, edge in ipairs(edges) do
    made.labels[i] = below + 1 .. "-" .. edge
    below = edge
  end
  made.labels[#edges + 1] = below .. "+"
  return made
end

--- The bin of a count.
function bins.of(made, count)
  local edges = made.edges
  for i = 1, #edges do
    if count <= edges[i] then return made.labels[i] end
  end
  return made.labels[#edges + 1]
end

--- Whether a text is one of the bins.
function bins.has(made, text)
  for _, label in ipairs(made.labels) do
    if label == text then return true end
  end
  return false
end

return bins
