-- The attribution in a link: click id, campaign, email, the app's own user id; and how many installs came from where.

local email_address = require "email_address"
local fields = require "fields"
local figures = require "figures"
local utm = require "utm"

local deep_link = {}

local INSTALLS = plugin.name .. ".installs"
local KEPT = { keep = settings.keep }
local FIELDS = { "appUserId", table.unpack(utm.names) }
for name in pairs(settings.click_ids) do FIELDS[#FIELDS + 1] = name end
--- Members that are always present in an answer; null if the link does not have them.
local SHOWN = { "email", "installedAt", table.unpack(FIELDS) }

--- The non-empty attribution parameters of a link; none if the link is too long or can't be parsed.
function deep_link.attribution(link)
  local text = fields.text(link, settings.url_bytes)
  local query = (text and url.parse(text) or {}).query or {}
  local found = utm.read(query, FIELDS, settings.value_bytes)
  found.email = email_address.read(query.email)
  return found
end

-- The source of an install, by its click ids and its source parameter, ignoring case.
local function sources(attribution)
  local list = {}
  for name, source in pairs(settings.click_ids) do
    if attribution[name] then list[#list + 1] = source end
  end
  list[#list + 1] = attribution.utm_source and text.lower(attribution.utm_source)
  return list
end

--- Whether it is Facebook's: it has a click id of Facebook's, or its source is Facebook's.
function deep_link.is_facebook(attribution)
  for _, source in ipairs(sources(attribution)) do
    if fields.is_one_of(source, settings.facebook_sources) then return true end
  end
  return false
end

--- Whether the link had no attribution at all.
function deep_link.is_empty(attribution)
  for name in pairs(attribution) do
    if name ~= "installedAt" then return false end
  end
  return true
end

--- The attribution with null for each absent member.
function deep_link.shown(attribution)
  local whole = {}
  for _, name in ipairs(SHOWN) do whole[name] = fields.or_null(attribution[name]) end
  return whole
end

--- Counts an install by one of few names: a link may hold any text, and each name is a counter of its own.
function deep_link.count_install(attribution, is_facebook)
  local name = is_facebook and "facebook" or sources(attribution)[1] or "organic"
  local is_known = name == "organic" or fields.is_one_of(name, settings.counted_sources)
  figures.add(INSTALLS, now(), { source = is_known and name or "other" }, 1, KEPT)
end

--- The query `installs {from, to}`: `{installs: [{day, source, count}]}`, in order of day and source.
function deep_link.installs(_, args) return { installs = figures.days(INSTALLS, "source", "count", args) } end

return deep_link
