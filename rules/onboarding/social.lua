-- Deeds of users to each other, such as follows, likes, comments and mentions. The actor's event becomes a message to
-- the other user, who is notified once of the same deed, or of each where the setting says so. Nobody is notified of
-- their own actions.
local bell = require "bell"
local dedup = require "dedup"
local subjects = require "subjects"

local social = {}

--- The types of events that the setting `social` has.
social.types = {}
for type in pairs(settings.social) do social.types[#social.types + 1] = type end

-- A key by which the other user knows the same deed again, and that names nobody once the actor's secret is gone.
local function key_of(state, ...)
  state.secret = state.secret or uuid()
  return hash.hmac_sha256(state.secret, dedup.key(...))
end

function social.tell(state, data, event)
  local deed = settings.social[event.type]
  local kind, actor, other = deed.kind, subjects.id("user:", event.subject), data[deed.whom]
  local thing = deed.about and data[deed.about] or nil
  if not subjects.is_id(other, settings.id_bytes) then return decide("error", "invalid_" .. deed.whom) end
  if deed.about and not subjects.is_id(thing, settings.id_bytes) then
    return decide("error", "invalid_" .. deed.about)
  end
  if other == actor then return end
  send(subjects.of_user(other), "social.told", {
    plugin = plugin.name, kind = kind, actor = actor, name = state.name, about = deed.about, thing = thing,
    key = not deed.each and key_of(state, kind, other, thing) or nil,
  })
end

function social.told(state, news, event)
  if news.key and not once("social:" .. news.key, settings.unique_days * 86400) then return end
  local notification = news.about and { [news.about] = news.thing } or {}
  notification.type, notification.actor = news.kind, news.actor
  bell.add(state, event.subject, notification, { actor = news.name or bell.text(state, "someone") })
end

return social
