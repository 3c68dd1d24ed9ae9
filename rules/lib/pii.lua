-- Personal data that does not belong in a report: e-mail addresses, IP addresses, phone and card numbers anywhere in a
-- string, as people write them in any script; strings long enough to be free text; names of properties that hold
-- personal data.

local fields = require "fields"

local pii = {}

-- Signs that `text.fold` keeps, by those of ASCII that people mean.
local SIGNS = {}
for sign, alike in pairs {
  ["-"] = "\u{2012}\u{2013}\u{2014}\u{2015}\u{2043}\u{2212}",
  ["."] = "\u{B7}\u{2022}\u{2027}\u{2219}\u{22C5}\u{3002}\u{30FB}",
  ["/"] = "\u{2044}\u{2215}", [":"] = "\u{2236}", [" "] = "\u{2028}\u{2029}",
  [""] = "\u{20E3}", -- the frame of a keycap
} do
  for _, code in utf8.codes(alike) do SIGNS[utf8.char(code)] = sign end
end

-- A space for tabs and ends of lines; all other control characters are invisible.
local CONTROLS = {}
for code = 0, 127 do
  local sign = string.char(code)
  CONTROLS[sign] = sign:find("%s") and " " or ""
end

-- The text in ASCII as far as it can be: digits and signs of all scripts, a space for tabs, ends of lines
-- and spaces of all widths, nothing invisible. Some letters fold to a whole phrase, so the result is cut; a byte
-- that is no text folds to three.
local function folded(written)
  return (text.fold(written):sub(1, 3 * #written):gsub("[\xC2-\xF4][\x80-\xBF]+", SIGNS):gsub("%c", CONTROLS))
end

-- The digits of a run of digits and separators, and its groups.
local function digits_of(run)
  local digits, groups = 0, 0
  for group in run:gmatch("%d+") do
    digits = digits + #group
    groups = groups + 1
  end
  return digits, groups
end

local LOOKED_BACK = 64 -- bytes before a number that may be the word that it is part of

-- Part of a word such as `err_0123456789` or `build-20251110-120000` is an identifier, not a phone number,
-- unless it begins with `+`, or as one of `limits.begins` after a word and a sign.
local function glued(limits, text, first, last)
  if text:find("^%+", first) then return false end
  local before = text:sub(math.max(1, first - LOOKED_BACK), first - 1)
  for _, start in ipairs(limits.begins or {}) do
    if text:find(start, first) and not before:find("%w$") then return false end
  end
  return before:find("%w[-_]*$") ~= nil or text:find("^[-_]*%a", last + 1) ~= nil
end

local function is_phone(limits, run)
  local digits, groups = digits_of(run)
  if digits > limits.most then return false end
  if run:find("+", 1, true) then return digits >= limits.international end
  if groups > 1 or run:find("^0") then
    return digits >= limits.grouped or limits.plain < math.huge and run:find("^%d%d%d[- .]%d%d%d%d$") ~= nil
  end
  return digits >= limits.plain
end

-- Numbers of phones and of cards whose groups are parted by signs that mostly part other things, such as times,
-- thousands and lists: these have other groups.
local PARTED = "%+?%d[%d_,:'~*|]+%d"
local PARTED_PHONES = {
  "^%+%d%d?%d?[^%d].*%d%d%d%d$", "^00?[1-9]%d+[^%d].*%d%d%d%d$", "^%d%d%d[^%d]%d%d%d[^%d]%d%d%d%d$",
}
local fours = "%d%d%d%d"
local PARTED_CARDS = {
  "^[3-6]%d%d%d[^%d]" .. fours .. "[^%d]" .. fours .. "[^%d]%d", "^3[47]%d%d[^%d]" .. fours .. "%d%d[^%d]" .. fours,
  "^2[2-7]%d%d[^%d]" .. fours .. "[^%d]" .. fours .. "[^%d]%d",
}

-- The text with hyphens between the groups of numbers in one of these forms.
local function hyphened(text, forms)
  return (text:gsub(PARTED, function(run)
    for _, form in ipairs(forms) do
      if run:find(form) then return (run:gsub("[^%d+]", "-")) end
    end
  end))
end

-- A phone number: +49 170 1234567, (555) 123-4567, 030 1234567, 15551234567.
local function has_phone(limits, written)
  -- Of signs in a row one counts, so that none is looked at twice.
  local text = hyphened(written, PARTED_PHONES):gsub("[+(][+(]+", function(signs)
    return signs:find("+", 1, true) and "+" or "("
  end)
  for first, run in text:gmatch("()([+(]?%d[%d ()./-]*)") do
    local trimmed = run:match("^.*%d")
    if is_phone(limits, trimmed) and not glued(limits, text, first, first + #trimmed - 1) then return true end
  end
  return false
end

-- Whether neighbouring groups of a run are a card number, whose digits have the check digit of Luhn: each second one
-- counts doubled, from the last but one on. `sums[1]` adds up the digits with those at even places doubled, `sums[0]`
-- those with the odd ones, so that each pair of groups is one subtraction.
local function holds_card(limits, run)
  local firsts, lasts, sums, n = {}, {}, { [0] = { [0] = 0 }, { [0] = 0 } }, 0
  for group in run:gmatch("%d+") do
    firsts[#firsts + 1] = n + 1
    for i = 1, #group do
      local digit = group:byte(i) - 48
      local doubled = digit > 4 and 2 * digit - 9 or 2 * digit
      n = n + 1
      sums[n % 2][n] = sums[n % 2][n - 1] + digit
      sums[(n + 1) % 2][n] = sums[(n + 1) % 2][n - 1] + doubled
    end
    lasts[#lasts + 1] = n
  end
  for i, first in ipairs(firsts) do
    for k = i, #lasts do
      local last = lasts[k]
      local digits = last - first + 1
      if digits > limits.most then break end
      local sum = sums[last % 2]
      if digits >= limits.least and (sum[last] - sum[first - 1]) % 10 == 0 then return true end
    end
  end
  return false
end

-- A card number, in one piece or in groups, possibly next to other digits. A dot parts groups of three digits or more:
-- times and versions have shorter ones.
local function has_card(options, text)
  local parted = hyphened(text, PARTED_CARDS):gsub("(%d%d%d)[./]%f[%d]", "%1 ")
  for run in parted:gmatch("%d[%d -]*") do
    if #run >= options.card_digits.least and holds_card(options.card_digits, run) then return true end
  end
  return false
end

local hex4 = "%x%x%x%x"
local uuid_pattern = hex4 .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. "%-" .. hex4 .. hex4 .. hex4
local date_pattern = "%d%d%d%d%-%d%d%-%d%d"

-- A decimal number is no phone or card number: 8.061854646744074, 130.144505486.
local function without_decimals(text)
  return text:gsub("%f[%w.+]%d%d?%.%d+%f[^%w.]", "#"):gsub("%f[%w.+][1-9]%d*%." .. ("%d"):rep(8) .. "+%f[^%w.]", "#")
end

local function has_email(text)
  return text:gsub("%%40", "@"):find("[^%s@]@[^%s@]+%.[^%s@]") ~= nil
end

--- Whether a text holds an e-mail address.
function pii.holds_address(written) return has_email(folded(written)) end

-- In a campaign's parameter digits alone are an id.
local CAMPAIGN = {
  international = 7, grouped = 9, plain = math.huge, most = 15,
  begins = { "^[(0]", "^%d%d%d[-. ]%d%d%d[-. ]%d%d%d%d%f[%D]" },
}

-- Texts in a campaign's parameter that are no phone numbers: dates, and long ids, possibly next to other digits.
local DATES_AND_IDS = {
  date_pattern, "%f[%d]20%d%d[01]%d[0-3]%d%f[%D]", "%f[%d]%d%d?[./-]%d%d?[./-]20%d%d%f[%D]",
  "%f[%d+][1-9]" .. ("%d"):rep(10) .. "+",
}

-- A phone number that is written as one: with `+` or `0` before it, or in groups of nine digits or more together. A `+`
-- after a word is a space, as forms write it.
local function has_written_phone(text)
  local rest = text:gsub(uuid_pattern, "#"):gsub("(%w)%+", "%1 ")
  for _, pattern in ipairs(DATES_AND_IDS) do rest = rest:gsub(pattern, "#") end
  return has_phone(CAMPAIGN, rest)
end

local MOST_DECODED = 4 -- times that a part of a link is decoded
local ESCAPED = "%%(%x%x)"

local BYTES = {}
for byte = 0, 255 do BYTES[("%02x"):format(byte)] = string.char(byte) end

-- A part of a link in ASCII, without percent-encoding; nil if it is encoded more often than is looked at.
local function decoded(written)
  local rest = folded(written)
  for _ = 1, MOST_DECODED do
    if not rest:find(ESCAPED) then return rest end
    rest = folded((rest:gsub(ESCAPED, BYTES)))
  end
  return not rest:find(ESCAPED) and rest or nil
end

--- Whether a part of a link may hold an e-mail address, or a phone number that is written as one, however often it is
--- percent-encoded. One that is encoded more than four times may.
function pii.in_link(written)
  local rest = decoded(written)
  return rest == nil or has_written_phone(rest) or has_email(rest)
end

local function is_ipv4(run)
  local groups = 0
  for group in run:gmatch("[^.]+") do
    groups = groups + 1
    if #group > 3 or tonumber(group) > 255 then return false end
  end
  return groups == 4
end

-- An address has a digit: `::` stands in programs. One of an IPv4 address is not within `::/0`, as it counts as IPv4.
local function is_ipv6(run) return run:find("%d") ~= nil and ip.within(run:gsub("([^:]):$", "%1"), "::/0") ~= nil end

-- Words that a version follows, which looks like an address: iOS 18.1.1.2, v1.2.3.4.
local VERSIONED = {
  "ios", "ipados", "macos", "watchos", "tvos", "visionos", "android", "v", "version", "build", "release", "sdk",
}

local function is_version(text, first)
  return fields.is_one_of(text:sub(1, first - 1):match("(%a+)[%s:=/_-]*$"), VERSIONED)
end

local function has_ip(text)
  for first, run in text:gmatch("()([%d.]+)") do
    if is_ipv4(run) and not is_version(text, first) then return true end
  end
  for run in text:gmatch("%f[%w:]%w*:[%w:]+") do
    if is_ipv6(run) or is_ipv6(run:match("^%a%w*:(%x.*)") or "") then return true end
  end
  return false
end

-- Ids and dates are removed first, since their digits are not phone numbers.
local function holds(options, written)
  local rest = folded(written):gsub(uuid_pattern, "#"):gsub(date_pattern, "#")
  if has_email(rest) or has_ip(rest) then return true end
  rest = without_decimals(rest)
  return has_phone(options.phone_digits, rest) or has_card(options, rest)
end

--- Whether a text holds personal data, or is long enough to be free text.
function pii.in_string(options, written)
  return (utf8.len(written) or #written) > options.text_length or holds(options, written)
end

--- How much is looked at in the tables and long texts of one event, for `pii.in_value`.
function pii.looking(options) return { left = options.members } end

-- A long text is looked at in pieces, which end with a word if they have several. Each counts as a member.
local function in_text(options, written, looking)
  local first = 1
  while looking.left > 0 do
    looking.left = looking.left - 1
    local past = utf8.offset(written, options.text_length + 1, first) or #written + 1
    local piece = written:sub(first, past - 1)
    if past <= #written then piece = piece:match("^.*%s") or piece end
    if holds(options, piece) then return true end
    first = first + #piece
    if first > #written then break end
  end
  return false
end

--- Whether the value holds personal data, at any depth and of any length. Of tables, which no event of the plan
--- carries, and of long texts, only the first members are looked at.
function pii.in_value(options, value, looking)
  if type(value) == "string" then return in_text(options, value, looking) end
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
  local words = " " .. folded(key:gsub("(%l)(%u)", "%1 %2")):gsub("[^%w]+", " ") .. " "
  for _, word in ipairs(options.names) do
    if words:find(" " .. word .. " ", 1, true) or words:find(" " .. word .. "s ", 1, true) then return true end
  end
  return false
end

return pii
