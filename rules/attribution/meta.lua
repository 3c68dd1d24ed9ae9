-- A conversion effect as a request to Meta's Conversions API. One event a request: a bad one spoils no good one.

local meta = {}

local DAY = 24 * 60 * 60

local function bit(flag) return flag and 1 or 0 end

local function endpoint()
  if settings.url == "" then return nil end
  return (settings.url:gsub("{pixel_id}", tostring(settings.pixel_id)))
end

function meta.request(effect)
  local told = effect.data
  if now() - told.eventTime > settings.expire_days * DAY then
    return nil, "older than " .. settings.expire_days .. " days"
  end
  local user = told.userData or {}
  local event = {
    event_name = told.eventName,
    event_time = told.eventTime,
    event_id = told.eventId,
    action_source = "app",
    user_data = { em = user.email },
    app_data = {
      advertiser_tracking_enabled = bit(told.advertiserTrackingEnabled),
      application_tracking_enabled = bit(told.applicationTrackingEnabled),
      extinfo = told.extinfo,
    },
    custom_data = told.customData or {},
  }
  return {
    url = endpoint(),
    headers = { ["content-type"] = "application/json" },
    body = json.encode { data = { event } },
  }
end

return meta
