-- The types and ranges of the settings: checked at load, those of the configuration too.

local fields = require "fields"
local figures = require "figures"
local texts = require "texts"

local stamps = data "stamps.json"

local function whole(least, about) return { type = "integer", min = least, about = about } end

local function number(about) return { type = "number", min = 0, about = about } end

local function has_text(key, all) return type(all.messages[key]) == "string", "messages has no such text" end

-- A text, or those of a locale.
local function is_text(value)
  local all = type(value) == "table" and value or { value }
  for _, text in pairs(all) do
    if type(text) ~= "string" or text == "" then return false, "it is no text, nor the texts of a locale" end
  end
  return true
end

setting "sender" { type = "string", min = 1, about = "The sender of messages that no user has caused." }
setting "welcome_stamp" {
  type  = "string",
  check = function(id)
    local _, stamp = fields.find(stamps, "id", id)
    if not stamp then return false, "stamps.json has no such stamp" end
    return stamp.requiresLocation == false, "this stamp requires a location"
  end,
  about = "One that is claimed from anywhere.",
}
setting "auto_claim_days" {
  type = "number", min = 0, max = 3650, about = "When the welcome stamp claims itself; 0 is off.",
}
setting "milestones" { type = { "integer" }, sorted_by = "*", check = fields.unlike(), about = "Counts of stamps." }
setting "milestones.*" (whole(1))
setting "achievements" {
  type = { { name = "string", measure = "string", at = "integer" } }, check = fields.unlike "name",
  about = "Once each; messages has their texts.",
}
setting "achievements.*.name" { type = "string", check = has_text }
setting "achievements.*.measure" {
  type = "string", one_of = { "stamps", "areas", "day" }, about = "All stamps, their areas, or the stamps of a day.",
}
setting "achievements.*.at" (whole(1))
setting "keep" (figures.keeping "How long a day's metrics are kept after their last change.")
setting "claim_windows.*" {
  type = "number", min = 0, max = 87600, about = "Hours from the sign-up to the welcome stamp.",
}
setting "time_zone" { type = "zone", about = "Whose civil days count, until the user's own is told." }
setting "radius_m" (number "The radius of a stamp without its own.")
setting "too_fast.km_h" (number "How fast users travel between claims; 0 is off.")
setting "too_fast.from_km" (number "A distance that needs no time.")
setting "notifications_kept" { type = "integer", min = 0, max = 500, about = "Of a user; a state holds 256 KiB." }
setting "areas_kept" {
  type = "integer", min = 1, max = 500, about = "Areas that a user is in; of more the first one is left.",
}
setting "unique_days" {
  type = "number", min = 1, max = 3650, about = "For so long the same deed is known as one, and notifies once.",
}
setting "page" (whole(1, "Notifications in an answer."))
setting "catalogue_page" (whole(1, "Stamps in an answer."))
setting "id_bytes" { type = "integer", min = 1, max = 251, about = "The longest id of a user, post or area." }
setting "name_bytes" (whole(1, "The longest name of a user."))
setting "social" {
  type  = "object",
  check = function(social)
    for type in pairs(social) do
      local is_type, why = fields.is_type(type)
      if not is_type then return false, why end
    end
    return true
  end,
}
setting "social.*" {
  type  = { kind = "string", whom = "string", about = "string?", each = "boolean?" },
  about = "By type of event: the kind of notification, the members that name the other user and what it is about.",
}
setting "social.*.kind" { type = "string", check = has_text }

-- The keys that `messages` may have besides those of the default: what else has a text, and locales. These have the
-- keys beside them.
local keys, english, locales = {}, {}, {}
local named = { area_stamp = "stamp", milestone = "count", one_stamp = "n", stamps = "n" }
for _, achievement in ipairs(settings.achievements) do keys[#keys + 1] = achievement.name end
for _, deed in pairs(settings.social) do
  keys[#keys + 1] = deed.kind
  named[deed.kind or ""] = "actor"
end
for key, value in pairs(settings.messages) do
  local list = type(value) == "table" and texts.is_locale(key) and locales or english
  list[#list + 1] = key
end
for _, locale in ipairs(locales) do
  keys[#keys + 1] = locale
  setting("messages." .. locale .. ".*") { type = "any", names = english }
end
setting "messages" {
  type  = "object",
  check = function(messages)
    local problem = texts.problem(messages, named)
    return not problem, problem
  end,
  about = "Those of deeds may name the {actor}.",
}
setting "messages.*" {
  type = "any", min = 1, names = keys, check = is_text, about = "In English; beside them, tables by locale.",
}
