-- What a link says about an install: the click, the campaign, an email, the app's own user id.

local told = require "told"
local email_address = require "email_address"
local utm = require "utm"

local deep_link = {}

local FIELDS = { "fbclid", "appUserId" }
for _, name in ipairs(utm.names) do FIELDS[#FIELDS + 1] = name end

--- The members that are always named in an answer, null where the link says nothing.
local SHOWN = { "email", "installedAt" }
for _, name in ipairs(FIELDS) do SHOWN[#SHOWN + 1] = name end

--- The attribution in a link: what is present and not empty. What can't be parsed is no attribution.
function deep_link.attribution(link)
  local parsed = type(link) == "string" and url.parse(link)
  local values = parsed and parsed.query or {}
  local found = {}
  for _, name in ipairs(FIELDS) do found[name] = told.text(values[name], settings.value_bytes) end
  if email_address.valid(values.email) then found.email = values.email end
  return found
end

--- Whether it is Facebook's: a click id, or a source that is Facebook in any case.
function deep_link.is_facebook(attribution)
  if attribution.fbclid then return true end
  local source = text.lower(attribution.utm_source or "")
  for _, name in ipairs(settings.facebook_sources) do
    if source == name then return true end
  end
  return false
end

--- Whether the link said nothing at all.
function deep_link.is_empty(attribution)
  if attribution.email then return false end
  for _, name in ipairs(FIELDS) do
    if attribution[name] then return false end
  end
  return true
end

--- With a null for each member that is absent.
function deep_link.shown(attribution)
  local whole = {}
  for _, name in ipairs(SHOWN) do whole[name] = told.or_null(attribution[name]) end
  return whole
end

return deep_link
