-- A conversion effect as a request to Meta's Conversions API. One event per request, so that a bad event does not block
-- good ones.

local meta = {}

local DAY = 24 * 60 * 60

local function bit(flag) return flag and 1 or 0 end

local function endpoint()
  if settings.url == "" then return nil end
  return (settings.url:gsub("{pixel_id}", tostring(settings.pixel_id)))
end

function meta.request(effect)
  local conversion = effect.data
  if now() - conversion.eventTime > settings.expire_days * DAY then
    return nil, "older than " .. settings.expire_days .. " days"
  end
  local user = conversion.userData or {}
  local event = {
    event_name = conversion.eventName,
    event_time = conversion.eventTime,
    event_id = conversion.eventId,
    action_source = "app",
    user_data = { em = user.email },
    app_data = {
      advertiser_tracking_enabled = bit(conversion.advertiserTrackingEnabled),
      application_tracking_enabled = bit(conversion.applicationTrackingEnabled),
      extinfo = conversion.extinfo,
    },
    custom_data = conversion.customData or {},
  }
  return {
    url = endpoint(),
    headers = { ["content-type"] = "application/json" },
    body = json.encode { data = { event } },
  }
end

return meta
