-- Experiments: arms by weights, for a part of the people; each person stays in one arm.

local options_of = require "options"

local experiment = {}

local function check(options)
  options_of.need("experiment", "name", options.name, options_of.text)
  options_of.need("experiment", "arms", options.arms, options_of.table)
  options_of.may("experiment", "share", options.share, options_of.part)
  options_of.may("experiment", "holdout", options.holdout, options_of.part)
  options_of.may("experiment", "excludes", options.excludes, options_of.table)
  local layer = options.layer
  if not layer then return end
  options_of.need("experiment: layer", "name", layer.name, options_of.text)
  options_of.need("experiment: layer", "weights", layer.weights, options_of.table)
end

-- Whether somebody belongs to that part of the people, by the draw of that name.
local function is_of(part, name, key) return bucket(name, key) < part end

-- Why somebody is not in the experiment, or nil.
local function outside(kept, options, key)
  local name, layer = options.name, options.layer
  if options.holdout and is_of(options.holdout, "holdout", key) then return "holdout" end
  for _, other in ipairs(options.excludes or {}) do
    if kept[other] then return "excluded" end
  end
  if layer and pick(layer.weights, bucket("layer:" .. layer.name, key)) ~= name then return "excluded" end
  if options.share and not is_of(options.share, name .. ":share", key) then return "not_yet" end
end

--- The arm, drawn by the weights `options.arms` the first time, and kept. Nil for a person outside of the experiment,
--- and why: `holdout`, `excluded`, `not_yet`.
function experiment.arm(kept, options, key)
  local known = kept[options.name]
  if known then return known.arm end
  check(options)
  local why = outside(kept, options, key)
  if why then return nil, why end
  local arm = pick(options.arms, bucket(options.name, key))
  kept[options.name] = { arm = arm }
  return arm
end

--- The arm, and whether the user sees it for the first time, which an experiment counts as an exposure.
function experiment.expose(kept, options, key)
  local arm, why = experiment.arm(kept, options, key)
  if not arm then return nil, why end
  local first = not kept[options.name].exposed
  kept[options.name].exposed = true
  return arm, first
end

--- The arm that somebody has, without drawing one: for queries.
function experiment.known(kept, options)
  local known = kept[options.name]
  return known and known.arm
end

return experiment
