-- Follows, likes, comments and mentions. The actor's event becomes a message to the other user, who is notified once of
-- the same follow, like or mention, and of every comment. Nobody is notified of their own actions.
local bell = require "bell"
local dedup = require "dedup"
local subjects = require "subjects"

local social = {}

-- `whom`: the field with the other user. `needs_post`: it is about a post. `each`: every one notifies, not only the
-- first.
local DEEDS = {
  ["user.followed"]  = { kind = "follow", whom = "target" },
  ["post.liked"]     = { kind = "like", whom = "owner", needs_post = true },
  ["post.commented"] = { kind = "comment", whom = "owner", needs_post = true, each = true },
  ["user.mentioned"] = { kind = "mention", whom = "target", needs_post = true },
}

function social.tell(_, data, event)
  local deed = DEEDS[event.type]
  local actor, other, post = subjects.id("user:", event.subject), data[deed.whom], deed.needs_post and data.post or nil
  if not subjects.is_id(other, settings.id_bytes) then return decide("error", "invalid_" .. deed.whom) end
  if deed.needs_post and not subjects.is_id(post, settings.id_bytes) then return decide("error", "invalid_post") end
  if other == actor then return end
  send(subjects.of_user(other), "social.told", { kind = deed.kind, actor = actor, post = post, each = deed.each })
end

function social.told(state, news, event)
  if not news.each and not dedup.once("social", news.kind, news.actor, news.post) then return end
  bell.add(state, event.subject, news.kind, { actor = news.actor, post = news.post })
end

return social
