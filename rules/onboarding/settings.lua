-- What the settings must be: checked at load, those of the configuration too.

local fields = require "fields"

local stamps = data "stamps.json"

local function whole(least, about) return { type = "integer", min = least, about = about } end

setting "sender" { type = "string", min = 1, about = "Who sends what no user has caused." }
setting "welcome_stamp" {
  type  = "string",
  check = function(id) return fields.find(stamps, "id", id) ~= nil, "stamps.json has no such stamp" end,
}
setting "auto_claim_days" { type = "number", min = 0, about = "When the welcome stamp claims itself; 0 is off." }
setting "milestones" { type = { "integer" }, sorted_by = "*", about = "Counts of stamps." }
setting "milestones.*" (whole(1))
setting "areas_achieved" (whole(1, "Areas for the achievement three_areas."))
setting "day_achieved" (whole(1, "Stamps for the achievement five_in_a_day."))
setting "time_zone" { type = "zone", about = "Whose civil days five_in_a_day counts." }
setting "radius_m" { type = "number", min = 0, about = "The radius of a stamp without its own." }
setting "notifications_kept" (whole(0))
setting "page" (whole(1, "Notifications in an answer."))
setting "area_members" (whole(1, "Members in one subject; further ones go to an annex."))
setting "id_bytes" (whole(1, "The longest id of a user, post or area."))
setting "messages.*" { type = "string", min = 1 }
