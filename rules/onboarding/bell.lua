-- The bell's notifications; the welcome stays until its stamp is claimed.
local fields = require "fields"
local inbox = require "inbox"
local subjects = require "subjects"

local bell = {}

local INBOX = {
  most = settings.notifications_kept,
  keeps = function(state, oldest) return oldest.type == "welcome" and not state.welcomed end,
}

-- Adds a notification; `more` has the optional fields: actor, post, relatedStampId, isRead, and the text's values.
function bell.add(state, subject, kind, more)
  inbox.add(state, INBOX, now(), {
    userId = subjects.id("user:", subject), type = kind, sender = more.actor or settings.sender,
    message = (settings.messages[more.text or kind]:gsub("{(%a+)}", { actor = more.actor, count = more.count })),
    isRead = more.isRead or false, relatedStampId = more.relatedStampId, actor = more.actor, post = more.post,
  })
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
    inbox.remove(state, data.id)
  end
end

-- The welcome's stamp was claimed: its notification is read, or leaves if it had been dismissed.
function bell.welcome_done(state)
  local _, notification = fields.find(state.notifications or {}, "type", "welcome")
  if notification then notification.isRead = true end
  if notification and state.welcome_dismissed then inbox.remove(state, notification.id) end
  state.welcome_dismissed = nil
end

return bell
