-- Follows, likes, comments and mentions. The actor's event becomes a message to the other user, who is notified once of
-- the same follow, like or mention, and of every comment. Nobody is notified of their own actions.
local inbox = require "inbox"
local people = require "people"

local social = {}

local LONGEST_KEY = 256 -- bytes

-- `whom`: the field with the other user. `needs_post`: it is about a post. `each`: every one notifies, not only the
-- first.
local DEEDS = {
  ["user.followed"]  = { kind = "follow", whom = "target" },
  ["post.liked"]     = { kind = "like", whom = "owner", needs_post = true },
  ["post.commented"] = { kind = "comment", whom = "owner", needs_post = true, each = true },
  ["user.mentioned"] = { kind = "mention", whom = "target", needs_post = true },
}

function social.tell(event, data)
  local deed = DEEDS[event.type]
  local actor, other = people.of(event.subject), data[deed.whom]
  if not people.valid_id(other) then return decide("error", "invalid_" .. deed.whom) end
  if deed.needs_post and not people.valid_id(data.post) then return decide("error", "invalid_post") end
  if other == actor then return end
  send(people.subject(other), "social.told", {
    kind = deed.kind, actor = actor, post = deed.needs_post and data.post or nil, each = deed.each,
  })
end

-- The once key of a deed; the digest of one that is too long for a key.
local function key_of(news)
  local key = json.encode(array { "social", news.kind, news.actor, news.post })
  return #key <= LONGEST_KEY and key or "social:" .. hash.sha256(key)
end

function social.told(state, subject, news)
  if not news.each and not once(key_of(news)) then return end
  inbox.add(state, subject, news.kind, { actor = news.actor, post = news.post })
end

return social
