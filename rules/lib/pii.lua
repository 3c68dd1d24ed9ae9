-- Personal data that does not belong in a report: e-mail addresses, IP addresses, phone and card numbers anywhere in a
-- string, as people write them; strings long enough to be free text; names of properties that hold personal data.

local pii = {}

-- The digits of a run of digits and separators, and its groups.
local function digits_of(run)
  local digits, groups = 0, 0
  for group in run:gmatch("%d+") do
    digits = digits + #group
    groups = groups + 1
  end
  return digits, groups
end

-- Part of a word such as `err_0123456789` or `build-20251110-120000` is an identifier, not a phone number,
-- unless it begins with `+`.
local function glued(text, first, last)
  if text:find("^[(]*%+", first) then return false end
  return text:sub(1, first - 1):find("%w[-_]*$") ~= nil or text:find("^[-_]*%a", last + 1) ~= nil
end

local function is_phone(limits, run)
  local digits, groups = digits_of(run)
  if digits > limits.most then return false end
  if run:find("+", 1, true) then return digits >= limits.international end
  if groups > 1 or run:find("^0") then
    return digits >= limits.grouped or run:find("^%d%d%d[- .]%d%d%d%d$") ~= nil
  end
  return digits >= limits.plain
end

-- A phone number: +49 170 1234567, (555) 123-4567, 030 1234567, 15551234567.
local function has_phone(options, text)
  for first, run in text:gmatch("()([+(]*%d[%d ()./-]*)") do
    local trimmed = run:gsub("[ ()./-]+$", "")
    if is_phone(options.phone_digits, trimmed) and not glued(text, first, first + #trimmed - 1) then return true end
  end
  return false
end

-- The check digit of payment cards (Luhn).
local function luhn(digits)
  local sum = 0
  for i = 1, #digits do
    local digit = digits:byte(-i) - 48
    if i % 2 == 0 then digit = digit * 2 end
    sum = sum + (digit > 9 and digit - 9 or digit)
  end
  return sum % 10 == 0
end

local function holds_card(limits, run)
  local groups = {}
  for group in run:gmatch("%d+") do groups[#groups + 1] = group end
  for first = 1, #groups do
    local digits = ""
    for last = first, #groups do
      digits = digits .. groups[last]
      if #digits > limits.most then break end
      if #digits >= limits.least and luhn(digits) then return true end
    end
  end
  return false
end

-- A card number, in one piece or in groups, possibly next to other digits.
local function has_card(options, text)
  for run in text:gmatch("%d[%d -]*") do
    if holds_card(options.card_digits, run) then return true end
  end
  return false
end

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
function pii.in_string(options, text)
  if (utf8.len(text) or #text) > options.text_length then return true end
  local rest = text:gsub(uuid_pattern, "#"):gsub(date_pattern, "#")
  return has_email(rest) or has_ip(rest) or has_phone(options, rest) or has_card(options, rest)
end

--- How much is looked at in the tables of one event, for `pii.in_value`.
function pii.looking(options) return { left = options.members } end

--- Whether the value holds personal data, at any depth. Of tables, which no event of the plan carries, only the first
--- members are looked at.
function pii.in_value(options, value, looking)
  if type(value) == "string" then return pii.in_string(options, value) end
  if type(value) ~= "table" or value == json.null then return false end
  for key, inner in pairs(value) do
    looking.left = looking.left - 1
    if looking.left < 0 then return false end
    if type(key) == "string" and pii.in_name(options, key) or pii.in_value(options, inner, looking) then return true end
  end
  return false
end

--- Whether a property's name is that of personal data, by its words, singular or plural: first_name, first-name,
--- firstNames.
function pii.in_name(options, key)
  if pii.in_string(options, key) then return true end
  local words = " " .. key:gsub("(%l)(%u)", "%1 %2"):gsub("[^%w]+", " "):lower() .. " "
  for _, word in ipairs(options.names) do
    if words:find(" " .. word .. " ", 1, true) or words:find(" " .. word .. "s ", 1, true) then return true end
  end
  return false
end

return pii
