-- Personal data, which no event may carry: e-mail addresses, IP addresses, phone and card numbers anywhere in a string,
-- strings long enough to be free text, and properties with names of personal data.

local numbers = require "numbers"

local pii = {}

local hex4 = "%x%x%x%x"
local uuid_pattern = hex4 .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. hex4 .. hex4
local date_pattern = "%d%d%d%d%-%d%d%-%d%d"

local function has_email(text)
  return text:gsub("%%40", "@"):find("[^%s@]@[^%s@]+%.[^%s@]") ~= nil
end

local function is_ipv4(run)
  local groups = 0
  for group in run:gmatch("[^.]+") do
    groups = groups + 1
    if #group > 3 or tonumber(group) > 255 then return false end
  end
  return groups == 4
end

local function is_ipv6(run)
  local _, colons = run:gsub(":", "")
  return run:find("%x") ~= nil and (colons == 7 or (run:find("::", 1, true) ~= nil and colons <= 7))
end

local function has_ip(text)
  for run in text:gmatch("[%d.]+") do
    if is_ipv4(run) then return true end
  end
  for run in text:gmatch("[%w:]+") do
    if not run:find("[^%x:]") and is_ipv6(run) then return true end
  end
  return false
end

--- Whether the text holds personal data. Ids and dates are removed first, since their digits are not phone numbers.
function pii.in_string(text)
  if (utf8.len(text) or #text) > settings.pii.text_length then return true end
  local rest = text:gsub(uuid_pattern, "#"):gsub(date_pattern, "#")
  return has_email(rest) or has_ip(rest) or numbers.has_phone(rest) or numbers.has_card(rest)
end

--- How much is looked at in the tables of one event, for `pii.in_value`.
function pii.looking() return { left = settings.pii.members } end

--- Whether the value holds personal data, at any depth. Of tables, which no event of the plan carries, only the first
--- members are looked at.
function pii.in_value(value, looking)
  if type(value) == "string" then return pii.in_string(value) end
  if type(value) ~= "table" or value == json.null then return false end
  for key, inner in pairs(value) do
    looking.left = looking.left - 1
    if looking.left < 0 then return false end
    if type(key) == "string" and pii.in_name(key) or pii.in_value(inner, looking) then return true end
  end
  return false
end

--- Whether a property's name is that of personal data, by its words, singular or plural: first_name, first-name,
--- firstNames.
function pii.in_name(key)
  if pii.in_string(key) then return true end
  local words = " " .. key:gsub("(%l)(%u)", "%1 %2"):gsub("[^%w]+", " "):lower() .. " "
  for _, word in ipairs(settings.pii.names) do
    if words:find(" " .. word .. " ", 1, true) or words:find(" " .. word .. "s ", 1, true) then return true end
  end
  return false
end

return pii
