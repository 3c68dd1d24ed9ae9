-- Names of subjects: `device:<id>` and `user:<id>`.

local payload = require "payload"

local subjects = {}

local LONGEST = 256 -- bytes of a subject, its prefix included

local function begins(event, prefix)
  return event.subject:sub(1, #prefix) == prefix
end

function subjects.is_device(event) return begins(event, "device:") end

function subjects.is_user(event) return begins(event, "user:") end

-- A user id that a client sent, as a string; nil if it can't be one, as a number with a fraction or beyond 64 bits.
local function user_id(value)
  if math.type(value) == "integer" then return tostring(value) end
  if type(value) ~= "string" or value == "" or #value > LONGEST - #"user:" then return nil end
  if value:find("%c") or not utf8.len(value) then return nil end
  return value
end

--- The user whom the event names, nil if it names none; decides `error` if its name can't be a user.
function subjects.user_in(event)
  local named = payload(event).user
  local user = user_id(named)
  if not user and named ~= nil and named ~= "" then decide("error", "invalid_user") end
  return user
end

--- The id in a subject's name with that prefix, such as "area:"; nil for another kind of subject.
function subjects.id(prefix, subject)
  if subject:sub(1, #prefix) == prefix and #subject > #prefix then return subject:sub(#prefix + 1) end
end

--- Whether a value that a client sent can be the id in a subject's name: a text of at most `most` bytes.
function subjects.is_id(id, most) return type(id) == "string" and id ~= "" and #id <= most and not id:find("%c") end

function subjects.of_user(id) return "user:" .. id end

return subjects
