-- Users and what else has an id: in events without a prefix, as subjects with one.
local people = {}

-- The id behind a subject of that kind ("user:", "area:"); nothing when it is of another.
function people.id(kind, subject)
  if subject:sub(1, #kind) == kind and #subject > #kind then return subject:sub(#kind + 1) end
end

function people.of(subject) return people.id("user:", subject) end

function people.subject(user) return "user:" .. user end

-- An id is a short string that can stand in a subject's name.
function people.valid_id(id)
  return type(id) == "string" and id ~= "" and #id <= settings.id_bytes and not id:find("%c")
end

return people
