-- Messages between people.
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
  t:equal(like.message, "Someone liked your stamp collection post")
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

test "the same like is known as one for a year" (function(t)
  local function like()
    t:event("user:ann", "post.liked", { owner = "bob", post = "p1" })
    return #list(t, "bob")
  end
  t:equal(like(), 1)
  t:advance("364d")
  t:equal(like(), 1)
  t:advance("1d")
  t:equal({ like(), like() }, { 2, 2 })
end)

test "nobody is notified of their own actions" (function(t)
  t:event("user:ann", "user.followed", { target = "ann" })
  t:event("user:ann", "post.liked", { owner = "ann", post = "p1" })
  t:event("user:ann", "post.commented", { owner = "ann", post = "p1" })
  t:event("user:ann", "user.mentioned", { target = "ann", post = "p1" })
  t:equal(t:sent(), {})
  t:equal(list(t, "ann"), {})
end)

test "a text names who it was once they told their name, and not before" (function(t)
  t:event("user:ann", "user.followed", { target = "bob" })
  t:event("user:ann", "profile.updated", { name = " Ann Lee " })
  t:event("user:ann", "user.mentioned", { target = "bob", post = "p1" })
  t:event("user:ann", "user.signed_in", { name = "" })
  t:event("user:ann", "post.commented", { owner = "bob", post = "p1" })
  local messages = {}
  for i, notification in ipairs(list(t, "bob")) do messages[i] = notification.message end
  t:equal(messages, { "Someone commented on your stamp", "Ann Lee mentioned you", "Someone followed you" })
end)

test "texts are in the language of the one who reads them" (function(t)
  t:each({ exact = "de", region = "de-AT", posix = "DE_at" }, function(locale)
    t:event("user:bob", "profile.updated", { locale = locale })
    t:event("user:ann", "user.followed", { target = "bob" })
    t:event("user:bob", "user.followed", { target = "ann" })
    t:equal(list(t, "bob")[1].message, "Jemand folgt dir jetzt")
    t:equal(list(t, "ann")[1].message, "Someone followed you")
  end)
end)

test "a region of its own has its own texts and the others of its language" (function(t)
  t:settings { messages = { ["de-CH"] = { welcome = "Grüezi" } } }
  t:event("user:bob", "user.signed_in", { locale = "de_ch" })
  t:event("user:ann", "user.followed", { target = "bob" })
  t:equal({ list(t, "bob")[1].message, list(t, "bob")[2].message }, { "Jemand folgt dir jetzt", "Grüezi" })
end)

test "a profile that can be none is an error, and nothing of it counts" (function(t)
  t:each({
    { "invalid_name", { name = ("x"):rep(129) } }, { "invalid_name", { name = "a\nb" } },
    { "invalid_name", { name = 5 } }, { "invalid_name", { name = "Ada <ada@example.org>" } },
    { "invalid_locale", { locale = "german", name = "Ann" } }, { "invalid_locale", { locale = ("x"):rep(36) } },
    { "invalid_zone", { time_zone = "Europe/Berln", name = "Ann" } }, { "invalid_zone", { time_zone = 1 } },
  }, function(case)
    t:equal(t:event("user:ann", "profile.updated", case[2]).decisions, { error = case[1], badge = 0 })
    t:equal(t:state("user:ann"), {})
  end)
end)

test "other products set their own deeds" (function(t)
  t:settings {
    social   = { ["recipe.cooked"] = { kind = "cooked", whom = "cook", about = "recipe" } },
    messages = { cooked = "{actor} cooked your recipe", someone = "Somebody" },
  }
  for _ = 1, 2 do t:event("user:ann", "recipe.cooked", { cook = "bob", recipe = "r1" }) end
  t:equal(t:event("user:ann", "recipe.cooked", { cook = "bob" }).decisions.error, "invalid_recipe")
  local cooked = list(t, "bob")
  t:equal({ #cooked, cooked[1].message, cooked[1].recipe }, { 1, "Somebody cooked your recipe", "r1" })
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

test "a client can't say what only the rules tell" (function(t)
  for type, data in pairs {
    ["social.told"] = { kind = "follow", actor = "2" }, ["area.told"] = { stamp = "louvre", area = "paris" },
    ["area.parted"] = { user = "2" }, ["area.publish_due"] = { stamp = "louvre", area = "paris" },
    ["account.erased"] = {}, ["person.erased"] = {}, ["welcome.claim_due"] = {},
  } do
    t:fails(function() t:event("user:1", type, data) end, "only rules make events")
  end
  t:equal(t:state("user:1"), {})
end)

-- Whether anything that is held of a subject has a text in it.
local function holds(t, subject, text) return json.encode(t:state(subject)):find(text, 1, true) ~= nil end

test "with an account goes all of the user" (function(t)
  t:settings { auto_claim_days = 3 }
  t:event("user:ann", "user.signed_in", { name = "Ann" })
  t:event("user:ann", "area.entered", { area = "paris" })
  t:event("user:bob", "user.followed", { target = "ann" })
  t:equal(t:event("user:ann", "account.deleted").decisions, { badge = 0 })
  t:advance("4d")
  t:event("area:paris", "stamp.published", { stamp = "louvre" })
  t:equal(t:state("user:ann"), {})
  t:equal(t:query("user:ann", "stamps").count, 0)
end)

test "with an account goes what others hold of the user, whatever else erases the user" (function(t)
  t:event("user:ann", "profile.updated", { name = "Ann Lee" })
  for _, other in ipairs { "bob", "cid" } do
    t:event("user:ann", "user.followed", { target = other })
    t:event("user:ann", "post.liked", { owner = other, post = "p1" })
    t:event("user:dan", "post.liked", { owner = other, post = "p1" })
  end
  t:event("user:ann", "account.deleted")
  for _, other in ipairs { "bob", "cid" } do
    t:equal(kinds(t, other), { "like" })
    t:truthy(holds(t, "user:" .. other, "dan") and not holds(t, "user:" .. other, "ann"))
  end
end)

test "what was under way to others goes a little later" (function(t)
  t:event("user:ann", "account.deleted")
  t:each({ "1s", "11s", "71s" }, function(later)
    t:event("user:bob", "social.told", { kind = "follow", actor = "ann" }, { internal = true })
    t:advance(later)
    t:equal(kinds(t, "bob"), {})
  end)
end)

test "who comes back after a deletion is somebody new" (function(t)
  for _ = 1, 2 do
    t:event("user:ann", "user.followed", { target = "bob" })
    t:equal(kinds(t, "bob"), { "follow" })
    t:event("user:ann", "account.deleted")
    t:equal(kinds(t, "bob"), {})
  end
end)

test "who holds nothing of a user any more does not hear of the deletion" (function(t)
  t:settings { notifications_kept = 2 }
  t:event("user:ann", "user.followed", { target = "bob" })
  t:event("user:ann", "user.mentioned", { target = "bob", post = "p1" })
  local followed = list(t, "bob")[2].id
  t:event("user:bob", "notification.dismissed", { id = followed })
  t:event("user:cid", "user.followed", { target = "bob" })
  t:event("user:dan", "user.followed", { target = "bob" })   -- the mention leaves
  local function heard()
    local erased = 0
    for _, message in ipairs(t:sent()) do
      if message.type == "person.erased" and message.data.plugin == plugin.name then erased = erased + 1 end
    end
    return erased
  end
  t:event("user:ann", "account.deleted")
  t:equal(heard(), 0)
  t:event("user:cid", "account.deleted")
  t:equal(heard(), 1)
  t:equal(kinds(t, "bob"), { "follow" })
end)

test "one notification that leaves does not keep the others of its user" (function(t)
  t:event("user:ann", "user.followed", { target = "bob" })
  t:event("user:ann", "user.mentioned", { target = "bob", post = "p1" })
  t:event("user:bob", "notification.dismissed", { id = list(t, "bob")[2].id })
  t:event("user:ann", "account.deleted")
  t:equal(kinds(t, "bob"), {})
end)

test "lists of earlier rules let go of a deleted account once their user was there again" (function(t)
  local from_ann = { id = "1", type = "follow", actor = "ann", isRead = true }
  local stamps = { id = "2", type = "area_stamp", isRead = true }
  t:given("user:bob", 3, { onboarding = { version = 1, state = { notifications = array { from_ann, stamps } } } })
  t:event("user:bob", "bell.opened")
  t:event("user:ann", "account.deleted")
  t:equal(kinds(t, "bob"), { "area_stamp" })
  t:equal(t:state("user:bob").unjoined, nil)
end)
