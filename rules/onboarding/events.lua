-- The events, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local documented = function(about) return { about = about, checked = false } end

event("user.signed_in", {}, documented "A user signed in; the first time brings the welcome notification.")
event("stamp.claim", {
  stamp = "string: the stamp's id", lat = "number?: degrees north", lon = "number?: degrees east",
}, documented "A user claims a stamp.")

local one = { id = "string: the notification's id" }
event("notification.read", one, documented "A notification was read.")
event("notification.unread", one, documented "A notification was marked unread.")
event("notification.dismissed", one, documented "A notification was dismissed.")
event("notifications.read_all", {}, documented "All notifications were read.")
event("bell.opened", {}, documented "The list of notifications was opened; nothing is marked as read.")

local target = "string: the other user's id"
event("user.followed", { target = target }, documented "The user followed another one.")
event("user.mentioned", {
  target = target, post = "string: the post's id",
}, documented "The user mentioned another one.")
event("post.liked", { owner = target, post = "string: the post's id" }, documented "The user liked a post.")
event("post.commented", { owner = target, post = "string: the post's id" }, documented "The user commented on a post.")

event("area.entered", { area = "string: the area's id" }, documented "A user came into an area.")
event("area.left", { area = "string: the area's id" }, documented "A user left an area.")
event("stamp.published", {
  stamp = "string: the stamp's id",
}, documented "A new stamp was published; the subject is its area.")

-- What the rules tell each other, and the timer that claims the welcome stamp.
event("social.told", {
  from = "rules", kind = "string", actor = "string", post = "string?", each = "boolean?",
}, documented "Somebody followed, mentioned, liked or commented on the user.")
local member = { from = "rules", user = "string" }
event("area.joined", member, documented "A user came into the area.")
event("area.parted", member, documented "A user left the area.")
event("area.told", { from = "rules", stamp = "string" }, documented "A stamp was published in an area of the user.")
event("welcome.claim_due", { from = "rules" }, documented "The user has not claimed the welcome stamp for some days.")
