-- A user's notifications: oldest first in the state, newest first in answers. At most `notifications_kept` are stored;
-- the oldest is removed first, except the welcome while its stamp is unclaimed.
local people = require "people"

local inbox = {}

local function list(state) return state.notifications or {} end

local function find(state, id)
  for i, notification in ipairs(list(state)) do
    if notification.id == id then return i, notification end
  end
end

local function trim(state)
  local notifications = state.notifications
  while #notifications > settings.notifications_kept do
    local keep_first = notifications[1].type == "welcome" and not state.welcomed and #notifications > 1
    table.remove(notifications, keep_first and 2 or 1)
  end
end

-- Adds a notification; `more` has the optional fields: actor, post, relatedStampId, isRead, and the text's values.
function inbox.add(state, subject, kind, more)
  local text = settings.messages[more.text or kind]
  state.notifications = state.notifications or array {}
  table.insert(state.notifications, {
    id = uuid(), userId = people.of(subject), type = kind, sender = more.actor or settings.sender,
    message = (string.gsub(text, "{(%a+)}", { actor = more.actor, count = more.count })),
    createdAt = calendar.format(now()), isRead = more.isRead or false,
    relatedStampId = more.relatedStampId, actor = more.actor, post = more.post,
  })
  trim(state)
end

function inbox.unread(state)
  local unread = 0
  for _, notification in ipairs(list(state)) do
    if not notification.isRead then unread = unread + 1 end
  end
  return unread
end

-- A user's actions on one notification; each returns whether the notification exists.
inbox["notification.read"] = function(state, id)
  local _, notification = find(state, id)
  if notification then notification.isRead = true end
  return notification ~= nil
end

-- Marking a dismissed welcome unread restores it.
inbox["notification.unread"] = function(state, id)
  local _, notification = find(state, id)
  if not notification then return false end
  notification.isRead = false
  if notification.type == "welcome" then state.welcome_dismissed = nil end
  return true
end

-- A dismissed notification leaves the list; the welcome is only read until its stamp is claimed (`pending`).
inbox["notification.dismissed"] = function(state, id, pending)
  local i, notification = find(state, id)
  if not notification then return false end
  if notification.type == "welcome" and pending then
    notification.isRead = true
    state.welcome_dismissed = true
  else
    table.remove(state.notifications, i)
  end
  return true
end

function inbox.read_all(state)
  for _, notification in ipairs(list(state)) do notification.isRead = true end
end

-- The welcome's stamp was claimed: marks its notification read, or removes it if it had been dismissed.
function inbox.welcome_done(state)
  for i, notification in ipairs(list(state)) do
    if notification.type == "welcome" then
      notification.isRead = true
      if state.welcome_dismissed then table.remove(state.notifications, i) end
      break
    end
  end
  state.welcome_dismissed = nil
end

-- A page of notifications, newest first: those before the notification `before`, or the newest.
function inbox.page(state, limit, before)
  local notifications, items = list(state), array {}
  local last = #notifications
  if before ~= nil then last = (find(state, before) or 1) - 1 end
  local count = type(limit) == "number" and math.tointeger(limit) or settings.page
  for i = last, math.max(1, last - math.max(0, count) + 1), -1 do items[#items + 1] = notifications[i] end
  return { items = items, unread = inbox.unread(state) }
end

return inbox
