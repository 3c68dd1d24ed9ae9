-- The events of clients, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local documented = function(about) return { about = about, checked = false } end

event("app.opened", { launch_type = "string?" }, documented "The app was opened; the first time of a day earns points.")
event("flirts.generated", { flirt_count = "integer" }, documented "A set of flirts was generated.")
event("flirt.revealed", {
  flirt_index = "integer", scroll_duration_ms = "integer?", reveal_method = "string?",
}, documented "The user revealed a flirt.")
event("flirt.copied", {
  flirt_index = "integer", tone_used = "string?", quality_tier = "string?",
}, documented "The user copied a flirt.")
event("flirt.rated", {
  rating = "integer: 1 to 5", flirt_index = "integer?", tone_used = "string?", quality_tier = "string?",
}, documented "The user rated a flirt.")
event("points.spent", {
  amount = "integer: more than 0", tier = "string?: the tier that it is spent on",
}, documented "The user spent points.")
event("profile.updated", { time_zone = "string?: an IANA name" }, documented "The user's profile changed.")
event("settings.gamification_toggled", { enabled = "boolean" }, documented "Gamification was switched on or off.")
event("tutorial.step_viewed", { step_number = "integer", step_title = "string?" }, documented "A step of the tutorial.")
event("tutorial.completed", {
  completion_time_seconds = "number?", skipped = "boolean?",
}, documented "The tutorial was completed.")
event("tutorial.skipped", { step_skipped_on = "integer?" }, documented "The tutorial was skipped.")
event("user.authenticated", { user = "string" }, documented "Somebody signed in on a device.")
event("data.exported", { export_format = "string?" }, documented "The user's data was exported.")
event("account.deleted", {}, documented "The user's account is deleted.")
event("data.deleted", {}, documented "The user's data is to be erased.")
