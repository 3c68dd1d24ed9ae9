-- The declarations of the settings, which are checked at load, those of the configuration too.

local fields = require "fields"
local figures = require "figures"

-- The bins that the plan names, its longest name, and its parts of a day, where it lists them.
local binned, longest, parts = {}, "", nil
for name, properties in pairs(data("plan.json").events) do
  if #name > #longest then longest = name end
  for key, of in pairs(properties) do
    binned[#binned + 1] = of.bins
    if key == "time_of_day" and of.derived then parts = of.values end
  end
end

local function holds_names(length) return length >= #longest, "the plan has the event " .. longest end

local function are_edges(bins)
  if bins[1] < 0 then return false, "an edge is below 0" end
  return fields.unlike()(bins)
end

local function whole(least, about) return { type = "integer", min = least, about = about } end

setting "unknown_properties" {
  type = "string", one_of = { "drop", "refuse" }, about = "The fate of a property that the plan does not have.",
}
setting "session_minutes" { type = "number", min = 1, about = "A session ends after so long without an event." }
setting "sessions_open" { type = "integer", min = 1, max = 100, about = "Of one user, at most: one for each source." }
setting "name_length" {
  type = "integer", min = 1, check = holds_names, about = "The longest name of an event, error code or error type.",
}
setting "violations_listed" (whole(1, "Of one event, at most."))
setting "codes_a_day" {
  type = "integer", min = 0, max = 1000,
  about = "Different error codes of one user that are counted; further ones are `other`.",
}
setting "keep" (figures.keeping "How long a figure is kept after it was counted last.")
setting "game" { type = "plugin?", about = "The plugin whose points a deletion reports." }
setting "bins.*" {
  type = { "integer" }, min = 1, sorted_by = "*", names = binned, check = are_edges,
  about = "Upper edges; 0 is a range of its own.",
}
setting "parts_of_day" {
  type = { { from = "integer", name = "string" } }, min = 1, sorted_by = "from", check = fields.unlike "from",
}
setting "parts_of_day.*.from" { type = "integer", min = 0, max = 23, about = "The first hour." }
setting "parts_of_day.*.name" { type = "string", one_of = parts, about = "As the plan lists them." }
setting "pii.text_length" (whole(1, "Characters; more is free text."))
setting "pii.members" (whole(1, "Members of one event's tables, and pieces of its texts, that are looked at."))
setting "pii.phone_digits.*" { type = "integer", min = 1, names = {} }
setting "pii.card_digits" {
  type = "object", check = function(digits) return digits.least <= digits.most, "least is greater than most" end,
}
setting "pii.card_digits.*" { type = "integer", min = 1, names = {} }
setting "pii.names" { type = { "string" }, about = "Words in names of properties that hold personal data." }
setting "users_do" { type = { "string" }, min = 1, about = "Types of events that users cause, beside reports." }
setting "active_window_days" {
  type = "integer", min = 1, max = 92, about = "Weekly active users look back over so many days.",
}
setting "retention_days" {
  type = { "integer" }, sorted_by = "*", check = fields.unlike(), about = "Days after the first one.",
}
setting "retention_days.*" { type = "integer", min = 1, max = 366 }
setting "daily_range_days" (whole(1, "A longer range has its figures by month."))
setting "longest_range_days" { type = "integer", min = 1, max = 366, about = "Of one query." }
