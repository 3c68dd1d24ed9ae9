-- The events, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local documented = function(about) return { about = about, checked = false } end

event("app.launched", {
  platform      = "string: ios, android, web, or another one of the settings",
  url           = "string?: the link that opened the app, or that led to the installation",
  authenticated = "boolean?: whether somebody is signed in; if missing, the last value applies",
  user          = "string?: who is signed in",
  first_launch  = "boolean?: false for an install that is older than the rules",
  att_status    = "string?: not-determined, authorized, denied or restricted",
  ["device?"]   = {
    package = "string?", short_version = "string?", long_version = "string?", os_version = "string?",
    model = "string?", locale = "string?", tz_abbr = "string?", carrier = "string?", width = "any?", height = "any?",
    density = "any?", cores = "any?", storage_gb = "any?", free_gb = "any?", tz = "string?",
  },
}, documented "The app was started, on a device.")

event("att.answered", {
  status        = "string: authorized, denied or restricted",
  authenticated = "boolean?", user = "string?",
}, documented "The user answered Apple's question about tracking.")

event("app.foregrounded", {
  authenticated = "boolean?", user = "string?", att_status = "string?",
}, documented "The app came back to the foreground.")

event("email.submitted", { email = "string" }, documented "Somebody typed an address to sign in with.")
event("user.authenticated", { user = "string" }, documented "Somebody signed in on the device.")
event("account.deleted", {}, documented "A user deleted the account.")

-- Events between the rules.
event(plugin.name .. ".linked", {
  from = "rules", attribution = "object?", facebook = "boolean?", att_status = "string?",
}, documented "A device's attribution moves to the user who signed in on it, or its status has changed.")
event(plugin.name .. ".heard", {
  from = "rules", facebook = "boolean",
}, documented "A user has heard of a link, and says whether that user came from Facebook.")
event(plugin.name .. ".attributed", { from = "rules" }, documented "The device's user came from Facebook.")
event(plugin.name .. ".owner_deleted", { from = "rules" }, documented "A user who was on the device was deleted.")
event(plugin.name .. ".device_left", { from = "rules" }, documented "A device has forgotten the deleted user.")
event(plugin.name .. ".left", { from = "rules" }, documented "The deleted user has forgotten the device.")
