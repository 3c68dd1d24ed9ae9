-- The attribution in a link: click id, campaign, email, the app's own user id.

local fields = require "fields"
local email_address = require "email_address"
local utm = require "utm"

local deep_link = {}

local FIELDS = { "fbclid", "appUserId" }
for _, name in ipairs(utm.names) do FIELDS[#FIELDS + 1] = name end

--- Members that are always present in an answer; null if the link does not have them.
local SHOWN = { "email", "installedAt" }
for _, name in ipairs(FIELDS) do SHOWN[#SHOWN + 1] = name end

--- The non-empty attribution parameters of a link; none if the link is too long or can't be parsed.
function deep_link.attribution(link)
  local text = fields.text(link, settings.url_bytes)
  local parsed = text and url.parse(text)
  local values = parsed and parsed.query or {}
  local found = {}
  for _, name in ipairs(FIELDS) do found[name] = fields.text(values[name], settings.value_bytes) end
  found.email = email_address.read(values.email)
  return found
end

--- Whether it is Facebook's: it has a click id, or its source is Facebook's, ignoring case.
function deep_link.is_facebook(attribution)
  if attribution.fbclid then return true end
  local source = text.lower(attribution.utm_source or "")
  for _, name in ipairs(settings.facebook_sources) do
    if source == name then return true end
  end
  return false
end

--- Whether the link had no attribution at all.
function deep_link.is_empty(attribution)
  if attribution.email then return false end
  for _, name in ipairs(FIELDS) do
    if attribution[name] then return false end
  end
  return true
end

--- The attribution with null for each absent member.
function deep_link.shown(attribution)
  local whole = {}
  for _, name in ipairs(SHOWN) do whole[name] = fields.or_null(attribution[name]) end
  return whole
end

return deep_link
