-- The events of clients, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local documented = function(about) return { about = about, checked = false } end

event("link.opened", {
  url             = "string: the universal link",
  logged_in       = "boolean: whether somebody is signed in",
  onboarding_seen = "boolean: whether the device has seen the onboarding",
}, documented "A universal link opened the app.")

event("user.authenticated", { user = "string" }, documented "Somebody signed in on the device.")
