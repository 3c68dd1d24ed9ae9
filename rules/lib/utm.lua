-- The campaign parameters of links, and touches: the first and the last link that brought somebody.

local dedup = require "dedup"
local fields = require "fields"
local pii = require "pii"

local utm = {}

local LONGEST = 2000 -- bytes of a text of a link that leaves, such as a parameter's value
local MOST_PARTS = 50 -- parameters of a link, and parts of a path, that are looked at; further ones do not leave

utm.names = { "utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term" }

--- The campaign parameters that are present in `values`, by name.
function utm.present(values)
  local found = {}
  for _, name in ipairs(utm.names) do found[name] = values[name] end
  return found
end

-- Words alone hold neither; most parts of links are.
local function is_words(text) return not text:find("[^%a/?&#=_-]") end

local function may_leave(text) return is_words(text) or not pii.in_link(text) end

--- A text of a link, such as a parameter's value, if it may leave: without an e-mail address and a phone number in it.
function utm.told(text) return text and #text <= LONGEST and may_leave(text) and text or nil end

--- The values under the same names that may leave.
function utm.told_members(values)
  local found = {}
  for name, value in pairs(values) do found[name] = utm.told(value) end
  return found
end

-- The parts of a link, with the sign before each, and the texts in a part whose length counts.
local SEGMENT = { "/?[^/]+", "^/?(.*)" }
local PARAMETER = { "[?&][^&]+", "^.([^=]*)=?(.*)" }
local FRAGMENT = { "#.*", "^#(.*)" }

local function are_short(name, value) return #name <= LONGEST and #(value or "") <= LONGEST end

-- A link's path, query or fragment without the parts that may not leave.
local function told_parts(whole, parts)
  local pattern, texts = table.unpack(parts)
  local n = 0
  return (whole:gsub(pattern, function(part)
    n = n + 1
    if n > MOST_PARTS or #part > LONGEST and not are_short(part:match(texts)) or not may_leave(part) then return "" end
  end))
end

--- A link as it may leave: without a user's name, the parts of the path and the parameters that may not, and without
--- such a fragment; and the same up to its query.
function utm.told_link(link)
  local site, rest = link:match "^([^/?#]*//[^/?#]*)(.*)$"
  local path, query, fragment = (rest or link):match "^([^?#]*)(%??[^#]*)(.*)$"
  local head = (site or ""):gsub("[^/]*@", "") .. told_parts(path, SEGMENT)
  return head .. told_parts(query, PARAMETER):gsub("^&", "?") .. told_parts(fragment, FRAGMENT), head
end

--- Of a link's query the values under `names` that are texts of at most `most` bytes and not empty.
function utm.read(query, names, most)
  local found = {}
  for _, name in ipairs(names) do found[name] = fields.text(query[name], most) end
  return found
end

--- Keeps a touch as the last one, and once ever as the first. Returns whether it is the first.
function utm.touch(kept, at, parameters, path)
  local touch = { landing_path = path, timestamp = calendar.format(at) }
  for _, name in ipairs(utm.names) do touch[name:sub(5)] = parameters[name] end
  kept.last_touch = touch
  return select(2, dedup.first(kept, "first_touch", touch))
end

local function shown(touch)
  if not touch then return json.null end
  local whole = { landing_path = touch.landing_path, timestamp = touch.timestamp }
  for _, name in ipairs(utm.names) do whole[name:sub(5)] = fields.or_null(touch[name:sub(5)]) end
  return whole
end

--- Both touches, with null for absent members.
function utm.touches(kept)
  return { first_touch = shown(kept and kept.first_touch), last_touch = shown(kept and kept.last_touch) }
end

return utm
