-- The events, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local documented = function(about) return { about = about, checked = false } end

local profile = {
  name = "string?: what others' texts call the user; empty for none", locale = "string?: such as pt-BR",
  time_zone = "string?: an IANA name",
}
event("profile.updated", profile, documented "The user's profile changed.")
event("user.signed_in", profile, documented "A user signed in; the first time brings the welcome notification.")
event("account.deleted", {}, documented "The user's account is deleted.")
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

-- The messages between rules, and timers. A copy of the plugin hears them too, so they name the plugin that made
-- them.
local function made(type, about, members)
  members.from, members.plugin = "rules", "string?"
  event(type, members, documented(about))
end

made("social.told", "Somebody followed, mentioned, liked or commented on the user.", {
  kind = "string", actor = "string", name = "string?: the actor's", about = "string?: what `thing` is",
  thing = "string?", key = "string?: the same for the same deed",
})
made("area.told", "A stamp was published in an area of the user.", { stamp = "string", area = "string?: to be joined" })
made("area.parted", "A user left the area.", { user = "string" })
made("area.publish_due", "More of an area's listed members are to be told of a stamp.", {
  stamp = "string", area = "string",
})
made("account.erased", "The data that others hold of a user are to be erased.", { user = "string", round = "integer?" })
made("person.erased", "The account of somebody in the user's list was deleted.", { user = "string" })
made("claim.window_closed", "A time is over within which claims count for the metrics.", {})
made("welcome.claim_due", "The user has not claimed the welcome stamp for some days.", {})
