-- Texts for people in their language: `{ hello = "Hello, {name}", de = { hello = "Hallo, {name}" } }`. Those beside the
-- tables of locales are for everybody else.

local texts = {}

local LONGEST = 35 -- bytes of a locale

--- Whether a value that a client sent names a locale, such as `de`, `pt-BR` or `zh_Hant_TW`.
function texts.is_locale(value)
  if type(value) ~= "string" or #value > LONGEST then return false end
  local parts = value .. "-"
  return parts:find "^%a%a%a?[_-][%w_-]*$" ~= nil and not parts:find "[_-][_-]"
end

--- A locale as it is compared: pt-br for pt_BR.
function texts.plain(locale) return (locale:lower():gsub("_", "-")) end

-- The text in the table of the locale, or in the nearest wider one that has it: zh-Hant before zh for zh-Hant-TW.
local function own(all, locale, key)
  local wanted, found, nearest = texts.plain(locale) .. "-", nil, 0
  for name, those in pairs(all) do
    local text = type(those) == "table" and #name > nearest and those[key]
    if text and wanted:sub(1, #name + 1) == texts.plain(name) .. "-" then found, nearest = text, #name end
  end
  return found
end

local function problem_of(key, text, named)
  for name in tostring(text):gmatch "{(%a+)}" do
    if name ~= named[key] then return ("'%s' has no {%s}, only %s"):format(key, name, named[key] or "words") end
  end
end

--- Why the texts can't be right, or nil: one names a value other than its own, which `named` has by key, a table is of
--- no locale, or two are of the same.
function texts.problem(all, named)
  local seen = {}
  for key, value in pairs(all) do
    local those = { [key] = value }
    if type(value) == "table" then
      if not texts.is_locale(key) then return "'" .. key .. "' is neither a text nor a locale" end
      local locale = texts.plain(key)
      if seen[locale] then return "two tables are of " .. locale end
      seen[locale], those = true, value
    end
    for inner, text in pairs(those) do
      local problem = problem_of(inner, text, named)
      if problem then return problem end
    end
  end
end

--- The text under a key, for a locale or nil. `{name}` in it becomes the value of that name.
function texts.of(all, locale, key, values)
  local text = locale and own(all, locale, key) or all[key]
  return (text:gsub("{(%a+)}", values or {}))
end

return texts
