-- Sessions: open from `session.started` until `session.ended`, or until half an hour has passed without an event.

local pii = require "pii"

local sessions = {}

local function good_id(id)
  return type(id) == "string" and not pii.in_string(settings.pii, id) and id:find("^[%w_.:-]+$") ~= nil
end

--- Any event keeps the session open; one that comes too late ends it.
function sessions.go_on(state)
  if now() - state.session.seen >= settings.session_minutes * 60 then
    state.session = nil
  else
    state.session.seen = now()
  end
end

--- Opens a session with the given id, or a new one. An invalid id opens none.
function sessions.start(state, id)
  state.session = nil
  if id ~= nil and not good_id(id) then return end
  state.session = {
    id = id or uuid(), started = now(), seen = now(),
    screens = 0,
    sets_announced = 0, sets_completed = 0,   -- `flirts.generated` and `flirt_generation_completed`
  }
end

--- The open session, if the id is its own or nil.
function sessions.open(state, id)
  local session = state.session
  if session and (id == nil or id == session.id) then return session end
  return nil
end

--- Ends the open session; the end of another session is ignored.
function sessions.finish(state, id)
  if sessions.open(state, id) then state.session = nil end
end

--- Notes an accepted report in its session. Returns whether it is the session's first error.
function sessions.note(state, name, properties)
  local session = sessions.open(state, properties.session_id)
  if not session then return false end
  if name == "flirt_generation_completed" then session.sets_completed = session.sets_completed + 1 end
  if name ~= "error_displayed" or session.erred then return false end
  session.erred = true
  return true
end

return sessions
