-- The declarations of the settings, which are checked at load, those of the configuration too.

local fields = require "fields"
local figures = require "figures"

local unlike = fields.unlike
local OWN_CAUSES = { moved = true, spend = true } -- of changes of points, beside actions
local MOST_POINTS, MOST_TIMES, MOST_MULTIPLIED = 1000000, 100000, 100 -- so that no sum of points leaves the integers

local MEASURES = { "revealed", "streak", "spent" } -- of tiers

-- Tiers in order: each needs no less of anything than those before it, and more of something.
local function is_ladder(tiers)
  local most = {}
  for _, tier in ipairs(tiers) do
    local rises = false
    for _, measure in ipairs(MEASURES) do
      local least, before = tier[measure], most[measure]
      if least and before and least < before then
        return false, ("%s needs less %s than a lower one"):format(tier.name, measure)
      end
      rises = rises or least ~= nil and least ~= before
      most[measure] = least or before
    end
    if not rises then return false, tier.name .. " needs no more than the lower ones" end
  end
  return unlike "name" (tiers)
end

-- The earnings of the actions, and the members of their data: the keys that `points` and `ranges` may have.
local earned, members = {}, {}
for _, action in ipairs(settings.actions) do
  earned[#earned + 1] = action.earns
  members[#members + 1] = action.unique
  members[#members + 1] = action.each
  for _, name in ipairs(action.needs or {}) do members[#members + 1] = name end
  for _, name in ipairs(action.with or {}) do members[#members + 1] = name end
end

setting "time_zone" { type = "zone", about = "Whose civil days count, until the client sends the user's own." }
setting "actions" {
  type  = {
    {
      on = "string", earns = "string", each = "string?", ["needs?"] = { "string" }, ["with?"] = { "string" },
      unique = "string?", renews = "boolean?", counts = "boolean?", daily = "boolean?",
      streak = "boolean?", tells = "string?", tier = "string?", when_off = "boolean?",
    },
  },
  min   = 1,
  check = function(list, all)
    for _, action in ipairs(list) do
      local tells = action.tells
      if OWN_CAUSES[action.earns] then return false, action.earns .. " is a cause of the game's own" end
      if not all.points[action.earns] then return false, ("points.%s is missing"):format(action.earns) end
      if tells and not tells:find "^%l[%l%d_]*$" then return false, json.encode(tells) .. " is no name of a report" end
    end
    return unlike "on" (list)
  end,
  about = "Which events earn what.",
}
setting "actions.*.on" { type = "string", check = fields.is_type }
setting "ranges.*" {
  type  = { lowest = "integer", highest = "integer?" },
  check = function(range) return not range.highest or range.highest >= range.lowest, "lowest is greater" end,
  names = members,
  about = "Of a member of an action's data.",
}
setting "points.*" { type = "integer", min = 0, max = MOST_POINTS, names = earned, about = "The points of the action." }
setting "cap" {
  type = "integer", min = 0, max = MOST_TIMES,
  about = "How often an action earns in a civil day, unless `caps` has it.",
}
setting "caps" {
  type  = "object",
  check = function(caps, all)
    for action in pairs(caps) do
      if not all.points[action] then return false, ("points.%s is missing"):format(action) end
    end
    return true
  end,
}
setting "caps.*" { type = "integer", min = 0, max = MOST_TIMES, about = "How often the action earns in a civil day." }
setting "unique_days" { type = "integer", min = 1, max = 3650, about = "For so long a repeat is known as one." }
setting "multipliers" {
  type      = { { streak = "integer", times = "number" } },
  sorted_by = "-streak",
  check     = unlike "streak",
  about     = "How many times points count from a streak on.",
}
setting "multipliers.*.streak" { type = "integer", min = 1 }
setting "multipliers.*.times" { type = "number", min = 1, max = MOST_MULTIPLIED }
setting "freezes.at_start" { type = "integer", min = 0 }
setting "freezes.every_days" { type = "integer", min = 1, about = "Days of a streak that earn a freeze." }
setting "freezes.most" { type = "integer", min = 0, about = "The freezes that are kept." }
setting "milestones" {
  type      = { { type = "string", at = "integer", reward = "integer" } },
  sorted_by = "at",
  check     = unlike("type", "at"),
  about     = "By flirts revealed.",
}
setting "milestones.*.at" { type = "integer", min = 1 }
setting "milestones.*.reward" { type = "integer", min = 0, max = MOST_POINTS }
setting "tiers" {
  type      = { { name = "string", revealed = "integer?", streak = "integer?", spent = "integer?" } },
  sorted_by = MEASURES,
  check     = is_ladder,
  about     = "Any of the three unlocks a tier and those below it; two are sorted by what both have.",
}
for _, measure in ipairs(MEASURES) do
  setting("tiers.*." .. measure) { type = "integer?", min = 1 }
end
setting "first_tier" {
  type  = "string", min = 1,
  check = function(name, all) return not fields.find(all.tiers, "name", name), "it is one of tiers" end,
  about = "Everyone's, below the `tiers`.",
}
setting "sign_ins" { type = { "string" }, min = 1, about = "The events whose user gets a device's points." }
setting "standings.bands" { type = { "integer" }, sorted_by = "*", check = unlike(), about = "Lower edges, by points." }
setting "standings.bands.*" { type = "integer", min = 1, about = "Everyone below the first is in one from 0." }
setting "keep" (figures.keeping "How long a day's sums are kept after their last change.")
setting "history" { type = "integer", min = 0, max = 2000, about = "Changes of points that are kept." }
setting "tutorial" { type = { "string" }, about = "The titles of its steps." }
