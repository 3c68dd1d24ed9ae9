-- A user's notifications: oldest first in the state, newest first in answers, at most so many. `options.gone(kept,
-- notification)` is called for each that has left. The id of a dismissed one keeps its place, so that a page may begin
-- behind it: it has no type, and is the first to make room.

local fields = require "fields"

local inbox = {}

local NONE = {}

local function list(kept) return kept.notifications or NONE end

local function find(kept, id) return fields.find(list(kept), "id", id) end

local function tell_gone(kept, options, notification)
  if options.gone then options.gone(kept, notification) end
end

local function take(kept, options, place)
  tell_gone(kept, options, table.remove(kept.notifications, place))
end

--- Adds a notification with an id and a time. More than `options.most` are not kept: the oldest leaves, or the one
--- after it where `options.keeps(kept, oldest)` holds.
function inbox.add(kept, options, at, notification)
  local notifications = kept.notifications or array {}
  kept.notifications = notifications
  notification.id, notification.createdAt = uuid(), calendar.format(at)
  notifications[#notifications + 1] = notification
  while #notifications > options.most do
    local keeps = #notifications > 1 and options.keeps and options.keeps(kept, notifications[1])
    take(kept, options, fields.find(notifications, "type", nil) or keeps and 2 or 1)
  end
end

--- How many are not read.
function inbox.unread(kept)
  local unread = 0
  for _, notification in ipairs(list(kept)) do
    if not notification.isRead then unread = unread + 1 end
  end
  return unread
end

--- Marks a notification as read, or not. Returns it; nil for an id that is not there.
function inbox.mark(kept, id, is_read)
  local _, notification = find(kept, id)
  if not notification or not notification.type then return nil end
  notification.isRead = is_read
  return notification
end

function inbox.read_all(kept)
  for _, notification in ipairs(list(kept)) do notification.isRead = true end
end

--- Dismisses a notification, which must be there.
function inbox.dismiss(kept, options, notification)
  kept.notifications[find(kept, notification.id)] = { id = notification.id, isRead = true }
  tell_gone(kept, options, notification)
end

--- Removes the notifications whose member has that value.
function inbox.remove(kept, options, member, value)
  local place = fields.find(list(kept), member, value)
  while place do
    take(kept, options, place)
    place = fields.find(list(kept), member, value)
  end
end

--- A page of notifications, newest first: those before the notification `before`, or the newest; `page` of them if
--- `limit` is no count.
function inbox.page(kept, page, limit, before)
  local notifications, items = list(kept), array {}
  local place = #notifications + 1
  if before ~= nil then place = find(kept, before) or 1 end
  local count = fields.whole(limit) or page
  while #items < count and place > 1 do
    place = place - 1
    if notifications[place].type then items[#items + 1] = notifications[place] end
  end
  return { items = items, unread = inbox.unread(kept) }
end

return inbox
