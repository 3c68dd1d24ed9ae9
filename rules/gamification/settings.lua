-- What the settings must be: checked at load, those of the configuration too.

local function points(about) return { type = "integer", min = 0, about = about } end

-- A check that no two elements of a list have the same member.
local function unlike(member)
  return function(list)
    local seen = {}
    for _, element in ipairs(list) do
      local value = element[member]
      if seen[value] then return false, ("two have the %s %q"):format(member, value) end
      seen[value] = true
    end
    return true
  end
end

setting "time_zone" { type = "zone", about = "Whose civil days count, until the client sends the user's own." }
setting "points.*" (points "What the action earns.")
setting "rating.lowest" { type = "integer" }
setting "rating.highest" {
  type  = "integer",
  check = function(highest, all) return highest >= all.rating.lowest, "rating.lowest is greater" end,
}
setting "multipliers" {
  type      = { { streak = "integer", times = "integer" } },
  sorted_by = "-streak",
  about     = "How many times points count from a streak on.",
}
setting "multipliers.*.times" { type = "integer", min = 1 }
setting "freezes.at_start" { type = "integer", min = 0 }
setting "freezes.every_days" { type = "integer", min = 1, about = "Days of a streak that earn a freeze." }
setting "freezes.most" { type = "integer", min = 0, about = "The freezes that are kept." }
setting "milestones" {
  type      = { { type = "string", at = "integer", reward = "integer" } },
  sorted_by = "at",
  check     = unlike "type",
  about     = "By flirts revealed.",
}
setting "milestones.*.reward" (points "")
setting "tiers" {
  type      = { { name = "string", revealed = "integer", streak = "integer", spent = "integer" } },
  sorted_by = "revealed",
  check     = unlike "name",
  about     = "Any of the three unlocks a tier and those before it.",
}
setting "standings.bands" { type = { "integer" }, sorted_by = "*", about = "Lower edges, by points." }
setting "history" { type = "integer", min = 0, about = "Changes of points that are kept." }
setting "tutorial" { type = { "string" }, about = "The titles of its steps." }
