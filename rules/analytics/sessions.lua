-- Sessions, one for each source of the user's events, such as a device. A session is open from `session.started`, or
-- from `app.opened` where none is, until `session.ended`, or until half an hour has passed without an event.

local measures = require "measures"
local periods  = require "periods"
local plan     = require "plan"
local reports  = require "reports"
local sums     = require "sums"

local sessions = {}

-- The events and reports that are counted in a session.
local counted = {}
for _, types in pairs(measures.session_counts) do
  for _, type in ipairs(types) do counted[type] = true end
end

local LONGEST = 64 -- bytes of a source that names its session itself

-- The name of a source's session: a client's source may be of any length.
local function name_of(source) return #source <= LONGEST and source or hash.sha256(source) end

local function is_over(session) return now() - session.seen >= settings.session_minutes * 60 end

-- Drops the sessions that are over, and the one that was quiet for longest where there would be too many.
local function make_room(all)
  local quiet, n = nil, 0
  for source, session in pairs(all) do
    if is_over(session) then
      all[source] = nil
    else
      n = n + 1
      if not quiet or session.seen < all[quiet].seen then quiet = source end
    end
  end
  if n >= settings.sessions_open then all[quiet] = nil end
end

--- Any event keeps the session of its source open; one that comes too late ends it.
function sessions.go_on(state, source)
  local session = sessions.open(state, source)
  if not session then return end
  if is_over(session) then state.sessions[name_of(source)] = nil else session.seen = now() end
end

--- The open session of a source, if the id is its own or nil.
function sessions.open(state, source, id)
  local session = state.sessions and state.sessions[name_of(source)]
  return session and (id == nil or id == session.id) and session or nil
end

-- Opens a session with the given id, or a new one. An invalid id opens none.
local function begin(state, source, id, is_implied)
  local all, name = state.sessions or {}, name_of(source)
  state.sessions = all
  all[name] = nil
  if id ~= nil and not reports.is_id(plan, id) then return end
  make_room(all)
  all[name] = { id = id or uuid(), started = now(), seen = now(), counts = {}, implied = is_implied }
end

--- Opens a session; one that `app.opened` opened goes on instead, under the given id, and so does the one of that id.
function sessions.start(state, source, id)
  local session = sessions.open(state, source)
  local goes_on = session and (session.implied or session.id == id)
  if not goes_on or id ~= nil and not reports.is_id(plan, id) then return begin(state, source, id) end
  session.implied, session.id = nil, id or session.id
end

--- Opens a session where none is.
function sessions.imply(state, source, id)
  if not sessions.open(state, source) then begin(state, source, id, true) end
end

--- Ends the open session; the end of another session is ignored.
function sessions.finish(state, source, id)
  if sessions.open(state, source, id) then state.sessions[name_of(source)] = nil end
end

--- Counts an event, or an accepted report, in its session.
function sessions.count(session, type)
  if counted[type] then session.counts[type] = (session.counts[type] or 0) + 1 end
end

-- A session counts on the day on which it is reported to begin; `session.day` tells that it has counted.
local function count_start(session, name, today)
  local begins = name == "session_started" or name == "app_opened" and session and session.implied
  if not begins or session and session.day then return end
  periods.add(sums.figures, "sessions", today)
  if session then session.day = today end
end

--- Notes an accepted report in its session. A session with errors counts once, on the day on which the session counts.
function sessions.note(state, source, name, properties, today)
  local session = sessions.open(state, source, properties.session_id)
  count_start(session, name, today)
  if not session then return end
  sessions.count(session, name)
  if name ~= measures.errors.event or session.erred or not session.day then return end
  session.erred = true
  periods.add(sums.figures, "sessions_with_errors", session.day)
end

return sessions
