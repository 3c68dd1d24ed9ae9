-- The declarations of the settings, which are checked at load, those of the configuration too.

local routes = require "routes"

local SHA256 = "^" .. ("%x%x:"):rep(31) .. "%x%x$"

setting "host" { type = "host", about = "The host of the links; its site serves Apple's file." }
setting "main_host" {
  type  = "host?",
  check = function(host, all) return routes.host(host) ~= routes.host(all.host), "host is the same" end,
  about = "The main site, which redirects links that are written otherwise; without it, none.",
}
setting "target_parameter" { type = "string", min = 1, about = "Names the destination in a link." }
setting "url_bytes" {
  type = "integer", min = 1, max = 32768, about = "A longer link is ignored; a state holds 256 KiB.",
}
setting "app_store_id" {
  type  = "any",
  check = function(id) return id == "" or tostring(math.tointeger(id) or id):find "^%d+$" ~= nil, "an id is digits" end,
  about = "The digits of the id, as a text or a number; without it, a page instead of the redirect.",
}
setting "play_store_id" { type = "string", about = "The app's package; without it, that of the first Android app." }
setting "play_store_url" { type = "url", about = "The package follows it." }
setting "page.*" { type = "string", names = {}, about = "A text of the pages; {name} is the app's." }
setting "app_ids" { type = { "string" }, about = "Apple's team id and bundle." }
setting "android_apps" {
  type  = { { package = "string", fingerprints = { "string" } } },
  about = "The fingerprints are the SHA-256 of keys.",
}
setting "app_ids.*" {
  type  = "string",
  check = function(id) return id:find "^%w+%.[%w.-]+$" ~= nil, "an id is TEAMID.com.example.app or such" end,
}
setting "android_apps.*.fingerprints.*" {
  type  = "string",
  check = function(print) return print:find(SHA256) ~= nil, "a fingerprint is 32 bytes, such as 14:6D:…" end,
}
setting "app_name" { type = "string", min = 1 }
setting "store_url" { type = "url", about = "The id follows it." }
setting "search_url" { type = "url", about = "Where the page leads if there is no id." }
