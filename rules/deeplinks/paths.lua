-- The paths of the links, and the screens that lead to each destination. The table routes in the app, makes Apple's and
-- Google's files, and tells the website which paths to redirect to lower case. New marketing channels use query
-- parameters, not new paths.

local routes = require "routes"

local paths = {}

local function behind_login(screen)
  return { { when = { logged_in = true }, screens = { screen } }, { screens = { "login", screen } } }
end

paths.flows = {
  dashboard = {
    { when = { logged_in = true }, screens = { "dashboard" } },
    { when = { onboarding_seen = false }, screens = { "onboarding" } },
    { screens = { "login", "dashboard" } },
  },
  onboarding = { { screens = { "onboarding" } } },
  paywall = behind_login "paywall", report = behind_login "report", insights = behind_login "insights",
  invite = behind_login "invite", referral = behind_login "referral",
}

--- What `dl_target` can name.
paths.targets = { paywall = "plain", dashboard = "plain", onboarding = "plain", report = "id", insights = "id" }

local list = {
  { path = "/", destination = "dashboard" }, { path = "/paywall", destination = "paywall" },
  { path = "/onboarding", destination = "dashboard" }, { path = "/invite", destination = "invite" },
  { path = "/invite/*", destination = "invite" }, { path = "/report/*", destination = "report" },
  { path = "/insights/*", destination = "insights" }, { path = "/referr/*", destination = "referral" },
}
for _, channel in ipairs { "youtube", "instagram", "facebook", "reddit", "x", "tiktok", "respire-website", "email" } do
  list[#list + 1] = { path = "/" .. channel, destination = "dashboard" }
end
paths.routes = routes.new(list, paths.flows)

return paths
