-- Members of a subject, such as the users in an area. A subject holds so many; further ones go to its annex, which is a
-- subject of the same kind that hears the same events. For more than some thousands, use a topic.

local members = {}

local function annex(event) return event.subject .. "+" end

--- The event brings a member: it is kept, or sent on to the annex if there are `most` already.
function members.join(kept, most, event, id)
  local known, count = kept.members or {}, kept.count or 0
  kept.members = known
  if known[id] then return end
  if count >= most then
    kept.annex = true
    return send(annex(event), event.type, event.data)
  end
  known[id], kept.count = true, count + 1
end

--- The event takes a member away.
function members.leave(kept, event, id)
  local known = kept.members
  if known and known[id] then known[id], kept.count = nil, kept.count - 1 end
  if kept.annex then send(annex(event), event.type, event.data) end
end

--- The event is told to all members, the subjects `prefix` and their ids, as another one.
function members.tell(kept, event, prefix, type, data)
  for id in pairs(kept.members or {}) do send(prefix .. id, type, data) end
  if kept.annex then send(annex(event), event.type, event.data) end
end

return members
