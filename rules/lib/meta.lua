-- Conversions for Meta: what a device tells about itself, and the request to the Conversions API. One event per
-- request, so that a bad event does not block good ones.

local dedup = require "dedup"
local email_address = require "email_address"
local fields = require "fields"
local pii = require "pii"
local utm = require "utm"

local meta = {}

local DAY = 24 * 60 * 60

-- The 15 fields of `extinfo` that follow the version, in Meta's order.
local FIELDS = {
  "package", "short_version", "long_version", "os_version", "model", "locale", "tz_abbr", "carrier", "width", "height",
  "density", "cores", "storage_gb", "free_gb", "tz",
}

--- The fields of a device that a client sent, each of at most `most` bytes; nil if it sent none.
function meta.device(device, most)
  if type(device) ~= "table" then return nil end
  local known = {}
  for _, name in ipairs(FIELDS) do known[name] = fields.label(device[name], most) end
  return known
end

-- A text that may leave: one without an address in it.
local function told(text) return text and not pii.holds_address(text) and text or nil end

--- `extinfo`: 16 strings about the device in Meta's order, "" where unknown or an address. `version` is i2 for iOS, a2
--- for Android.
function meta.extinfo(version, device)
  local info = array { version }
  for _, name in ipairs(FIELDS) do info[#info + 1] = device and told(device[name]) or "" end
  return info
end

--- Where a user came from, as conversions tell it, and the millisecond of the install, which stands for the click. The
--- email is hashed here and leaves in no other form.
function meta.origin(attribution)
  local email, at = attribution.email, calendar.parse(attribution.installedAt or "")
  return {
    fbclid = attribution.fbclid, clickedAt = attribution.fbclid and at and math.floor(at * 1000 + 0.5),
    userData = { email = email and email_address.hashed(email) or nil },
    customData = utm.present(attribution),
  }
end

--- Sends a conversion twice, by the SDK on the device (`client`) and to the Conversions API (`conversions`), with
--- one id, by which Meta drops the duplicate. `sdk_event` is the event's name in the SDK; `from` is an origin, of which
--- no text with an address or a phone number leaves.
function meta.send(name, sdk_event, at, allowed, extinfo, from)
  dedup.pair(name, "eventId", {
    client = { eventName = sdk_event, advertiserTrackingEnabled = allowed },
    conversions = {
      eventName = name, eventTime = math.floor(at), advertiserTrackingEnabled = allowed,
      applicationTrackingEnabled = true, extinfo = extinfo, fbclid = utm.told(from.fbclid),
      clickedAt = from.clickedAt, userData = from.userData,
      customData = from.customData and utm.told_members(from.customData),
    },
  })
end

-- The click id as Meta's cookie has it, with the millisecond since which it is known.
local function click(conversion)
  if not conversion.fbclid then return nil end
  return ("fb.1.%d.%s"):format(conversion.clickedAt or conversion.eventTime * 1000, conversion.fbclid)
end

local function bit(flag) return flag and 1 or 0 end

--- A conversion effect as a request. `options`: `expire_days`, as Meta refuses older events; `url`, in which
--- `{pixel_id}` is replaced, or "" for that of the sink.
function meta.request(effect, options, at)
  local conversion = effect.data
  if at - conversion.eventTime > options.expire_days * DAY then
    return nil, "older than " .. options.expire_days .. " days"
  end
  local event = {
    event_name = conversion.eventName, event_time = conversion.eventTime, event_id = conversion.eventId,
    action_source = "app", user_data = { em = (conversion.userData or {}).email, fbc = click(conversion) },
    app_data = {
      advertiser_tracking_enabled = bit(conversion.advertiserTrackingEnabled),
      application_tracking_enabled = bit(conversion.applicationTrackingEnabled),
      extinfo = conversion.extinfo,
    },
    custom_data = conversion.customData or {},
  }
  return {
    url = options.url ~= "" and options.url:gsub("{pixel_id}", tostring(options.pixel_id)) or nil,
    headers = { ["content-type"] = "application/json" }, body = json.encode { data = { event } },
  }
end

return meta
