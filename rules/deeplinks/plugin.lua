-- Respire LYF: where a universal link leads in the app, which campaign brought the device, and the web side of the
-- links. Each rule answers one event; the modules beside this file decide.

plugin {
  name = "deeplinks",
  version = "1.0.0",
  about = "Universal links of Respire LYF: destination, first and last touch, app-site association and store redirect.",
  settings = {
    host = "app.respirelyf.com",   -- the canonical host of the links; its site serves Apple's file
    main_host = "respirelyf.com",  -- the main site, which redirects links that are written otherwise; empty: none
    target_parameter = "dl_target", -- names the destination in a link
    url_bytes = 16384,             -- a longer link is ignored
    app_ids = { "TEAMID.com.respirelyf.app" }, -- Apple team id and bundle: set your own
    android_apps = {}, -- e.g. { { package = "com.respirelyf.app", fingerprints = { "14:6D:…" } } }: SHA-256 of keys
    app_store_id = "",             -- digits, as string or number; empty: a page instead of the redirect
    play_store_id = "",            -- the app's package, for Android browsers; empty: that of the first of android_apps
    store_url = "https://apps.apple.com/app/id", -- the id follows
    play_store_url = "https://play.google.com/store/apps/details?id=",
    search_url = "https://apps.apple.com/us/iphone/search?term=Respire%20LYF", -- URL of the button, if there is no id
    app_name = "Respire LYF",
    page = {                       -- texts of the pages; {name} is the app's
      language = "en",
      title = "Get {name}", heading = "{name}", text = "This link opens in the app. Get it, then tap the link again.",
      button = "Download on the App Store",
      missing_title = "Page not found – {name}", missing_heading = "Page not found",
      missing_text = "There is nothing at this address.",
    },
  },
  sinks = { "analytics" },
}

require "settings"
require "events"

sink "analytics" { anonymous = true }

local subjects = require "subjects"
local links = require "links"
local routes = require "routes"
local utm = require "utm"
local website = require "website"

rule "link" { on = "link.opened", when = subjects.is_device, run = links.opened }
rule "sign-in" {
  on = "user.authenticated", when = subjects.is_device,
  run = function(_, state) decide("attribution", utm.touches(state)) end,
}

query "attribution_for_backend" { about = "The first and the last touch of a device.", run = utm.touches }

local function site(host, handler)
  if host == "" then return end
  web (routes.host(host)) (handler)
  web ("www." .. routes.host(host)) (handler)
end

site(settings.host, website.app)
site(settings.main_host, website.main)
