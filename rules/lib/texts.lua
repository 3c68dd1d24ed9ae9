-- Texts for people in their language: `{ hello = "Hello, {name}", de = { hello = "Hallo, {name}" } }`. Those beside the
-- tables of locales are for everybody else.

local texts = {}

local LONGEST = 35 -- bytes of a locale

--- Whether a value that a client sent names a locale, such as `de`, `pt-BR` or `zh_Hant_TW`.
function texts.is_locale(value)
  return type(value) == "string" and #value <= LONGEST and value:find("^%a%a%a?%f[%A][%w_-]*$") ~= nil
end

-- The texts of a locale, of its language, or none.
local function own(all, locale)
  if not locale then return {} end
  local language = locale:match("^%a+"):lower()
  return all[locale] or all[(locale:gsub("_", "-"))] or all[language] or {}
end

--- The text under a key, for a locale or nil. `{name}` in it becomes the value of that name.
function texts.of(all, locale, key, values)
  local text = own(all, locale)[key] or all[key]
  return (text:gsub("{(%a+)}", values or {}))
end

return texts
