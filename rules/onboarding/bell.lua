-- The bell's notifications; the welcome stays until its stamp is claimed.
local fields = require "fields"
local inbox = require "inbox"
local subjects = require "subjects"
local texts = require "texts"

local bell = {}

--- The topic of those who hold something of a user.
function bell.holders(user) return "of:" .. user end

local INBOX = {
  most  = settings.notifications_kept,
  keeps = function(state, oldest) return oldest.type == "welcome" and not state.welcomed end,
  gone  = function(state, notification)
    local actor = notification.actor
    if actor and not fields.find(state.notifications, "actor", actor) then topic.leave(bell.holders(actor)) end
  end,
}

--- Joins the topics of all whose notifications the user holds.
function bell.join(state)
  for _, notification in ipairs(state.notifications) do
    if notification.actor then topic.join(bell.holders(notification.actor)) end
  end
  state.unjoined = nil
end

--- A text of the settings in the user's language.
function bell.text(state, key, values) return texts.of(settings.messages, state.locale, key, values) end

--- Adds a notification, whose text has the key `text` or else its type.
function bell.add(state, subject, notification, values, text)
  notification.userId, notification.isRead = subjects.id("user:", subject), notification.isRead or false
  notification.sender = notification.actor or settings.sender
  notification.message = bell.text(state, text or notification.type, values)
  if notification.actor then topic.join(bell.holders(notification.actor)) end
  inbox.add(state, INBOX, now(), notification)
end

-- A dismissed notification leaves the list. The welcome is only read until its stamp is claimed, and marking it unread
-- restores it.
local MARKS = { ["notification.read"] = true, ["notification.unread"] = false, ["notification.dismissed"] = true }

function bell.mark(state, data, event)
  local dismisses = event.type == "notification.dismissed"
  local notification = inbox.mark(state, data.id, MARKS[event.type])
  if not notification then return decide("error", "unknown_notification") end
  if notification.type == "welcome" and not state.welcomed then
    if event.type ~= "notification.read" then state.welcome_dismissed = dismisses or nil end
  elseif dismisses then
    inbox.dismiss(state, INBOX, notification)
  end
end

-- The welcome's stamp was claimed: its notification is read, or leaves if it had been dismissed.
function bell.welcome_done(state)
  local _, notification = fields.find(state.notifications or {}, "type", "welcome")
  if notification then notification.isRead = true end
  if notification and state.welcome_dismissed then inbox.dismiss(state, INBOX, notification) end
  state.welcome_dismissed = nil
end

--- The deeds of another user leave the list.
function bell.erase(state, actor) inbox.remove(state, INBOX, "actor", actor) end

return bell
