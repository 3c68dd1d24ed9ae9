-- The events of clients, for readers and editors. The rules judge the data themselves, so nothing is checked here.
local plan = require "plan"

local types = { string = "string", int = "integer", double = "number", bool = "boolean" }

local function member(property)
  local text = types[property.type] or "any"
  if property.derived then text = text .. "?" end
  if property.values then return text .. ": " .. table.concat(property.values, ", ") end
  return text
end

for name, properties in pairs(plan.events) do
  local members = {}
  for key, property in pairs(properties) do members[key] = member(property) end
  event(name, members, { about = "A report of the analytics plan.", checked = false })
end

local function documented(about) return { about = about, checked = false } end

event("analytics.track", {
  name = "string: its name in the plan", properties = "object: as the plan describes them",
}, documented "A report of the analytics plan, by its name.")
event("settings.analytics_toggled", { enabled = "boolean" }, documented "The user switched analytics on or off.")
event("account.deleted", {}, documented "The user's account is deleted.")
event("session.started", { session_id = "string?" }, documented "A session begins.")
event("session.ended", { session_id = "string?" }, documented "A session ends.")
event("screen.viewed", { screen = "string?" }, documented "A screen was shown.")
