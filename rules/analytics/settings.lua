-- What the settings must be: checked at load, those of the configuration too.

local function whole(least, about) return { type = "integer", min = least, about = about } end

local function ascending(about) return { type = { "integer" }, sorted_by = "*", about = about } end

setting "session_minutes" { type = "number", min = 1, about = "A session ends after so long without an event." }
setting "name_length" (whole(1, "The longest name of an event, error code or error type."))
setting "violations_listed" (whole(1, "Of one event, at most."))
setting "bins.*" { type = { "integer" }, min = 1, sorted_by = "*", about = "Upper edges." }
setting "parts_of_day" { type = { { from = "integer", name = "string" } }, min = 1, sorted_by = "from" }
setting "parts_of_day.*.from" { type = "integer", min = 0, max = 23, about = "The first hour." }
setting "pii.text_length" (whole(1, "Characters; more is free text."))
setting "pii.members" (whole(1, "Members of one event's tables that are looked at."))
setting "pii.phone_digits.*" (whole(1))
setting "pii.card_digits.*" (whole(1))
setting "pii.names" { type = { "string" }, about = "Words in names of properties that hold personal data." }
setting "active_window_days" (whole(1, "Weekly active users look back over so many days."))
setting "streak_steps" (ascending())
setting "retention_days" (ascending "Days after the first one.")
setting "longest_range_days" (whole(1, "Of one query."))
