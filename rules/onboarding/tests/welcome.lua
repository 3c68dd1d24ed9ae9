-- Signing in, the welcome and its stamp, the bell and the list behind it.
local function list(t, args) return t:query("user:1", "notifications", args).items end

local function on_list(t, kind)
  for _, notification in ipairs(list(t)) do
    if notification.type == kind then return notification end
  end
end

test "the first sign-in brings the welcome, a second one nothing" (function(t)
  t:at("2026-03-01T10:00:00Z")
  t:equal(t:event("user:1", "user.signed_in").decisions, { badge = 1 })
  t:equal(t:event("user:1", "user.signed_in").decisions, { badge = 1 })
  local items = list(t)
  t:equal(#items, 1)
  local welcome = items[1]
  t:equal(calendar.parse(welcome.createdAt), calendar.parse("2026-03-01T10:00:00Z"))
  t:truthy(welcome.id)
  welcome.id, welcome.createdAt = nil, nil
  t:equal(welcome, {
    userId = "1", type = "welcome", sender = "Stampbook Team", message = "Welcome! Claim your first stamp",
    isRead = false, relatedStampId = "welcome",
  })
end)

test "the welcome stamp is claimed from anywhere, and its notification is read" (function(t)
  t:event("user:1", "user.signed_in")
  local decisions = t:event("user:1", "stamp.claim", { stamp = "welcome" }).decisions
  t:equal(decisions, { claim = { ok = true, stamp = "welcome" }, badge = 1 })   -- the badge is the first milestone's
  t:truthy(on_list(t, "welcome").isRead)
  t:equal(on_list(t, "milestone").message, "Collection milestone: 1 stamp")
  t:equal(t:query("user:1", "stamps").items[1].stamp, "welcome")
end)

test "after a claim before the first sign-in, the welcome is already read" (function(t)
  t:truthy(t:event("user:1", "stamp.claim", { stamp = "welcome" }).decisions.claim.ok)
  t:event("user:1", "user.signed_in")
  t:truthy(on_list(t, "welcome").isRead)
end)

test "a dismissed welcome stays, read, until its stamp is claimed" (function(t)
  t:event("user:1", "user.signed_in")
  local id = list(t)[1].id
  t:equal(t:event("user:1", "notification.dismissed", { id = id }).decisions, { badge = 0 })
  t:equal(on_list(t, "welcome").isRead, true)
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:equal(on_list(t, "welcome"), nil)
end)

test "a welcome marked unread again is no longer dismissed" (function(t)
  t:event("user:1", "user.signed_in")
  local id = list(t)[1].id
  t:event("user:1", "notification.dismissed", { id = id })
  t:equal(t:event("user:1", "notification.unread", { id = id }).decisions, { badge = 1 })
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:truthy(on_list(t, "welcome").isRead)
end)

test "another notification marked unread leaves a dismissed welcome dismissed" (function(t)
  t:event("user:1", "user.signed_in")
  t:event("user:2", "user.followed", { target = "1" })
  t:event("user:1", "notification.dismissed", { id = on_list(t, "welcome").id })
  t:equal(t:event("user:1", "notification.unread", { id = on_list(t, "follow").id }).decisions, { badge = 1 })
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:equal(on_list(t, "welcome"), nil)
end)

test "a claim reads the welcome, and no older notification" (function(t)
  t:event("user:2", "user.followed", { target = "1" })
  t:event("user:1", "user.signed_in")
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:equal({ on_list(t, "follow").isRead, on_list(t, "welcome").isRead }, { false, true })
end)

test "a claim of another stamp leaves the welcome unread" (function(t)
  t:event("user:1", "user.signed_in")
  t:event("user:1", "stamp.claim", { stamp = "louvre", lat = 48.86061, lon = 2.33764 })
  t:equal(on_list(t, "welcome").isRead, false)
end)

test "after its stamp was claimed, a dismissed welcome is removed at once like any other" (function(t)
  t:event("user:1", "user.signed_in")
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  for _, notification in ipairs(list(t)) do
    t:event("user:1", "notification.dismissed", { id = notification.id })
  end
  t:equal(t:query("user:1", "notifications"), { items = {}, unread = 0 })
end)

test "read, unread and all read; opening the bell marks nothing" (function(t)
  t:event("user:1", "user.signed_in")
  t:event("user:2", "user.followed", { target = "1" })
  local id = on_list(t, "follow").id
  t:equal(t:event("user:1", "bell.opened").decisions.badge, 2)
  t:equal(t:event("user:1", "notification.read", { id = id }).decisions.badge, 1)
  t:equal(t:event("user:1", "notification.read", { id = id }).decisions.badge, 1)
  t:equal(t:event("user:1", "notification.unread", { id = id }).decisions.badge, 2)
  t:equal(t:event("user:1", "notifications.read_all").decisions, { badge = 0 })
  t:equal(t:event("user:9", "notifications.read_all").decisions, { badge = 0 })
end)

test "an unknown notification is an error, and the badge is unchanged" (function(t)
  t:event("user:1", "user.signed_in")
  for _, type in ipairs { "notification.read", "notification.unread", "notification.dismissed" } do
    t:equal(t:event("user:1", type, { id = "none" }).decisions, { error = "unknown_notification", badge = 1 })
    t:equal(t:event("user:1", type).decisions, { error = "unknown_notification", badge = 1 })
  end
end)

test "pages are listed from the newest to the oldest" (function(t)
  for i = 2, 6 do t:event("user:" .. i, "user.followed", { target = "1" }) end
  local first = list(t, { limit = 2 })
  t:equal({ first[1].actor, first[2].actor, first[3] }, { "6", "5" })
  local second = list(t, { limit = 2, before = first[2].id })
  t:equal({ second[1].actor, second[2].actor }, { "4", "3" })
  t:equal(#list(t, { before = second[2].id }), 1)
  t:equal(#list(t, { before = "none" }), 0)
  t:equal(#list(t, { limit = 0 }), 0)
  t:equal(#list(t, { limit = "all" }), 5)
  t:equal(t:query(nil, "notifications"), { items = {}, unread = 0 })
end)

test "a page begins behind a dismissed notification, too" (function(t)
  t:settings { notifications_kept = 4 }
  for i = 2, 5 do t:event("user:" .. i, "user.followed", { target = "1" }) end
  local before = list(t)[2].id
  t:event("user:1", "notification.dismissed", { id = before })
  t:event("user:1", "notification.dismissed", { id = list(t)[2].id })
  t:equal(#list(t), 2)
  local page = list(t, { limit = 1, before = before })
  t:equal({ #page, page[1].actor }, { 1, "2" })
  t:equal(t:event("user:1", "notification.unread", { id = before }).decisions.error, "unknown_notification")
  t:equal(t:event("user:1", "notifications.read_all").decisions, { badge = 0 })
  for i = 6, 7 do t:event("user:" .. i, "user.followed", { target = "1" }) end
  t:equal(#list(t), 4)
end)

test "the oldest are removed from a full list, except the unclaimed welcome" (function(t)
  t:settings { notifications_kept = 3 }
  t:event("user:1", "user.signed_in")
  for i = 2, 6 do t:event("user:" .. i, "user.followed", { target = "1" }) end
  t:equal({ list(t)[1].actor, list(t)[2].actor, list(t)[3].type }, { "6", "5", "welcome" })
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:equal(on_list(t, "welcome"), nil)
  t:equal(#list(t), 3)
end)

test "a list of one keeps the unclaimed welcome, a list of none keeps nothing" (function(t)
  t:settings { notifications_kept = 1 }
  t:event("user:1", "user.signed_in")
  t:event("user:2", "user.followed", { target = "1" })
  t:equal({ #list(t), list(t)[1].type }, { 1, "welcome" })
  t:settings { notifications_kept = 0 }
  t:event("user:3", "user.followed", { target = "1" })
  t:equal(list(t), {})
end)

test "only users have a bell" (function(t)
  t:equal(t:event("user:", "user.signed_in").decisions, { badge = 0 })
  t:equal(t:query("user:", "notifications").items, {})
  t:equal(t:event("device:1", "user.signed_in").decisions.badge, nil)
  t:equal(t:query("device:1", "notifications").items, {})
end)

test "after auto_claim_days the welcome stamp claims itself" (function(t)
  t:settings { auto_claim_days = 3 }
  t:event("user:1", "user.signed_in")
  t:advance("2d")
  t:event("user:1", "user.signed_in")
  t:equal(t:query("user:1", "stamps").count, 0)
  t:advance("1d")
  t:equal(t:query("user:1", "stamps").count, 1)
  t:truthy(on_list(t, "welcome").isRead)
  t:equal(t:event("user:1", "stamp.claim", { stamp = "welcome" }).decisions.claim.reason, "already_claimed")
end)

test "an earlier claim, or switching the setting off, prevents the automatic claim" (function(t)
  t:settings { auto_claim_days = 3 }
  t:event("user:1", "user.signed_in")
  t:event("user:2", "user.signed_in")
  t:event("user:1", "stamp.claim", { stamp = "welcome" })
  t:settings { auto_claim_days = 0 }
  t:advance("4d")
  t:equal(t:query("user:1", "stamps").count, 1)
  t:equal(t:query("user:2", "stamps").count, 0)
end)

test "with other auto_claim_days the welcome stamp claims itself then" (function(t)
  local function claimed(user) return t:query("user:" .. user, "stamps").count end
  t:settings { auto_claim_days = 3 }
  t:event("user:1", "user.signed_in")
  t:settings { auto_claim_days = 7 }
  t:advance("6d")
  t:equal(claimed(1), 0)
  t:advance("1d")
  t:equal(claimed(1), 1)
  t:event("user:2", "user.signed_in")
  t:settings { auto_claim_days = 2 }
  t:advance("3d")
  t:event("user:2", "user.signed_in")
  t:advance("1s")
  t:equal(claimed(2), 1)
end)

test "users who signed up before auto_claim_days was set are claimed for from the next sign-in" (function(t)
  t:event("user:1", "user.signed_in")
  t:advance("1d")
  t:settings { auto_claim_days = 3 }
  t:event("user:1", "user.signed_in")
  t:advance("2d")
  t:equal(t:query("user:1", "stamps").count, 1)
end)
