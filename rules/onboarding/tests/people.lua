-- What people and areas tell each other.
local function list(t, user) return t:query("user:" .. user, "notifications").items end

local function kinds(t, user)
  local found = {}
  for i, notification in ipairs(list(t, user)) do found[i] = notification.type end
  return found
end

test "a follow, a like, a comment and a mention reach the other user" (function(t)
  t:equal(t:event("user:ann", "user.followed", { target = "bob" }).decisions, { badge = 0 })
  t:event("user:ann", "post.liked", { owner = "bob", post = "p1" })
  t:event("user:ann", "post.commented", { owner = "bob", post = "p1" })
  t:event("user:ann", "user.mentioned", { target = "bob", post = "p2" })
  t:equal(kinds(t, "bob"), { "mention", "comment", "like", "follow" })
  local like = list(t, "bob")[3]
  t:equal({ like.sender, like.actor, like.post, like.userId, like.isRead }, { "ann", "ann", "p1", "bob", false })
  t:equal(like.message, "ann liked your stamp collection post")
  t:equal(t:query("user:bob", "notifications").unread, 4)
  t:equal(list(t, "ann"), {})
end)

test "the same follow, like or mention notifies once; each comment notifies" (function(t)
  for _ = 1, 2 do
    t:event("user:ann", "user.followed", { target = "bob" })
    t:event("user:ann", "post.liked", { owner = "bob", post = "p1" })
    t:event("user:ann", "user.mentioned", { target = "bob", post = "p1" })
    t:event("user:ann", "post.commented", { owner = "bob", post = "p1" })
  end
  t:equal(#list(t, "bob"), 5)
  t:event("user:ann", "post.liked", { owner = "bob", post = "p2" })
  t:event("user:cid", "post.liked", { owner = "bob", post = "p1" })
  t:equal(#list(t, "bob"), 7)
end)

test "nobody is notified of their own actions" (function(t)
  t:event("user:ann", "user.followed", { target = "ann" })
  t:event("user:ann", "post.liked", { owner = "ann", post = "p1" })
  t:event("user:ann", "post.commented", { owner = "ann", post = "p1" })
  t:event("user:ann", "user.mentioned", { target = "ann", post = "p1" })
  t:equal(t:sent(), {})
  t:equal(list(t, "ann"), {})
end)

test "an event without a user or a post is an error" (function(t)
  for _, target in ipairs { "", 5, "a\nb", ("x"):rep(129) } do
    local outcome = t:event("user:ann", "user.followed", { target = target })
    t:equal(outcome.decisions, { error = "invalid_target", badge = 0 })
  end
  t:equal(t:event("user:ann", "post.liked", { post = "p" }).decisions.error, "invalid_owner")
  for type, whom in pairs { ["post.liked"] = "owner", ["post.commented"] = "owner", ["user.mentioned"] = "target" } do
    t:equal(t:event("user:ann", type, { [whom] = "bob" }).decisions.error, "invalid_post")
  end
  t:equal(t:event("user:ann", "area.entered").decisions.error, "invalid_area")
  t:equal(t:sent(), {})
end)

test "an id of 128 bytes is the longest" (function(t)
  local longest = ("x"):rep(128)
  t:equal(t:event("user:ann", "user.followed", { target = longest }).decisions, { badge = 0 })
  t:equal(kinds(t, longest), { "follow" })
end)

test "the longest ids notify once too" (function(t)
  local actor, post = "user:" .. ("a"):rep(251), ("p"):rep(128)
  for _ = 1, 2 do t:event(actor, "post.liked", { owner = "bob", post = post }) end
  t:equal(kinds(t, "bob"), { "like" })
end)

test "everyone in an area is notified of a stamp published there, once" (function(t)
  t:event("user:ann", "area.entered", { area = "paris" })
  t:event("user:bob", "area.entered", { area = "paris" })
  t:event("user:bob", "area.entered", { area = "paris" })
  t:event("user:cid", "area.entered", { area = "berlin" })
  t:equal(t:event("area:paris", "stamp.published", { stamp = "louvre" }).decisions, { badge = 0 })
  local messages = #t:sent()
  t:equal(t:event("area:paris", "stamp.published", { stamp = "louvre" }).decisions, { badge = 0 })
  t:equal(#t:sent(), messages)
  t:equal(kinds(t, "ann"), { "area_stamp" })
  t:equal(kinds(t, "bob"), { "area_stamp" })
  t:equal(kinds(t, "cid"), {})
  local told = list(t, "ann")[1]
  t:equal({ told.sender, told.message, told.relatedStampId },
    { "Stampbook Team", "New stamps in your area", "louvre" })
end)

test "a user who left is not notified, a member of two areas is notified once" (function(t)
  t:event("user:ann", "area.entered", { area = "paris" })
  t:event("user:ann", "area.left", { area = "paris" })
  t:event("user:ann", "area.left", { area = "paris" })
  t:event("user:bob", "area.entered", { area = "paris" })
  t:event("user:bob", "area.entered", { area = "seine" })
  t:event("area:paris", "stamp.published", { stamp = "louvre" })
  t:event("area:seine", "stamp.published", { stamp = "louvre" })
  t:event("area:seine", "stamp.published", { stamp = "notre-dame" })
  t:equal(list(t, "ann"), {})
  t:equal(#list(t, "bob"), 2)
end)

test "a stamp that is not in the catalogue is not published" (function(t)
  local unknown = { error = "unknown_stamp", badge = 0 }
  t:equal(t:event("area:paris", "stamp.published", { stamp = "atlantis" }).decisions, unknown)
  t:equal(t:event("area:paris", "stamp.published").decisions, unknown)
  t:equal(t:event("area:empty", "stamp.published", { stamp = "louvre" }).failures, {})
end)

test "further members of a full area go to its annex" (function(t)
  t:settings { area_members = 2 }
  for i = 1, 5 do t:event("user:" .. i, "area.entered", { area = "paris" }) end
  t:event("user:5", "area.left", { area = "paris" })
  t:event("user:1", "area.left", { area = "paris" })
  t:event("user:4", "area.entered", { area = "paris" })     -- now in both
  t:event("area:paris", "stamp.published", { stamp = "louvre" })
  local told = {}
  for i = 1, 5 do told[i] = #list(t, i) end
  t:equal(told, { 0, 1, 1, 1, 0 })
end)

test "an area has a place for each member, which is free again when the member leaves" (function(t)
  t:settings { area_members = 2 }
  t:event("user:cid", "area.left", { area = "paris" })
  t:equal(t:state("area:paris"), {})
  for _, user in ipairs { "ann", "ann", "bob" } do t:event("user:" .. user, "area.entered", { area = "paris" }) end
  t:equal(t:state("area:paris"), { members = { ann = true, bob = true }, count = 2 })
  t:event("user:ann", "area.left", { area = "paris" })
  t:event("user:cid", "area.entered", { area = "paris" })
  t:equal(t:state("area:paris"), { members = { bob = true, cid = true }, count = 2 })
  t:equal(t:state("area:paris+"), {})
  t:event("user:dan", "area.entered", { area = "paris" })
  t:equal(t:state("area:paris").annex, true)
  t:equal(t:state("area:paris+"), { members = { dan = true }, count = 1 })
end)

test "a client can't say what only the rules tell" (function(t)
  for type, data in pairs {
    ["social.told"] = { kind = "follow", actor = "2" }, ["area.told"] = { stamp = "welcome" },
    ["area.joined"] = { user = "2" }, ["area.parted"] = { user = "2" }, ["welcome.claim_due"] = {},
  } do
    t:fails(function() t:event("user:1", type, data) end, "only rules make events")
  end
  t:equal(t:state("user:1"), {})
end)
