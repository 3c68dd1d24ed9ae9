-- The destinations in the app: which screens lead to each, and which of them `dl_target` can name.

local destinations = {}

local function screen_alone(name) return { name } end

local function behind_login(name, visit)
  return visit.logged_in and { name } or { "login", name }
end

--- A user who has not seen the onboarding sees it instead of the login.
local function dashboard(name, visit)
  if visit.logged_in or visit.onboarding_seen then return behind_login(name, visit) end
  return { "onboarding" }
end

local FLOWS = {
  paywall = behind_login,
  dashboard = dashboard,
  onboarding = screen_alone,
  report = behind_login,
  insights = behind_login,
  invite = behind_login,
  referral = behind_login,
}

local TARGETS = { paywall = true, dashboard = true, onboarding = true }
local TARGETS_WITH_ID = { report = true, insights = true } -- report:<id>

--- The destination of a `dl_target`, ignoring case; nil if it is unknown or lacks its id.
function destinations.of_target(target)
  local plain = text.lower(target)
  if TARGETS[plain] then return { destination = plain } end
  local name, id = target:match("^([^:]*):(.+)$")
  name = name and text.lower(name)
  if TARGETS_WITH_ID[name] then return { destination = name, id = id } end
  return nil
end

--- The screens in order, for somebody who is logged in or not and has seen the onboarding or not.
function destinations.flow(name, visit)
  return FLOWS[name](name, visit)
end

return destinations
