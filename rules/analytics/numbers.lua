-- Finds phone numbers and payment card numbers, as people write them.

local numbers = {}

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

local function is_phone(run)
  local limits = settings.pii.phone_digits
  local digits, groups = digits_of(run)
  if digits > limits.most then return false end
  if run:find("+", 1, true) then return digits >= limits.international end
  if groups > 1 or run:find("^0") then
    return digits >= limits.grouped or run:find("^%d%d%d[- .]%d%d%d%d$") ~= nil
  end
  return digits >= limits.plain
end

--- A phone number: +49 170 1234567, (555) 123-4567, 030 1234567, 15551234567.
function numbers.has_phone(text)
  for first, run in text:gmatch("()([+(]*%d[%d ()./-]*)") do
    local trimmed = run:gsub("[ ()./-]+$", "")
    if is_phone(trimmed) and not glued(text, first, first + #trimmed - 1) then return true end
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

local function holds_card(run)
  local limits, groups = settings.pii.card_digits, {}
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

--- A card number, in one piece or in groups, possibly next to other digits.
function numbers.has_card(text)
  for run in text:gmatch("%d[%d -]*") do
    if holds_card(run) then return true end
  end
  return false
end

return numbers
