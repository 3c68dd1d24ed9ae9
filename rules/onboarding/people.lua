-- Ids of users and areas: without prefix in events, with prefix in names of subjects.
local people = {}

-- The id in a subject's name with that prefix ("user:", "area:"); nil for another kind of subject.
function people.id(kind, subject)
  if subject:sub(1, #kind) == kind and #subject > #kind then return subject:sub(#kind + 1) end
end

function people.of(subject) return people.id("user:", subject) end

function people.subject(user) return "user:" .. user end

-- An id is a short string that can be part of a subject's name.
function people.valid_id(id)
  return type(id) == "string" and id ~= "" and #id <= settings.id_bytes and not id:find("%c")
end

return people
