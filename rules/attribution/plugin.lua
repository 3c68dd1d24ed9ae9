-- The boss: where an install came from, when to ask for tracking, and which conversions go to Meta.
-- Each rule answers one event; the modules beside this file decide.

plugin {
  name = "attribution",
  version = "1.0.0",
  about = "Facebook attribution, App Tracking Transparency and conversion events of the boss.",
  settings = {
    reprompt_days = 14,        -- days of 24 hours between a prompt and the next
    reprompt_statuses = { "denied" }, -- after which the app asks again
    reprompt_on = { "app.launched", "app.foregrounded", "user.authenticated" }, -- events that check whether to
    platforms = {              -- asks: tracking needs consent; extinfo: version of Meta's, empty for no conversions
      ios = { asks = true, extinfo = "i2" }, android = { asks = false, extinfo = "a2" },
      web = { asks = false, extinfo = "" },
    },
    click_ids = { fbclid = "facebook" }, -- parameters of links that ads add, each with the source that it proves
    facebook_sources = { "facebook" }, -- utm_source values that are Facebook's, in lower case
    counted_sources = { "facebook", "instagram", "google", "tiktok", "apple", "email" }, -- the others count as "other"
    client_event = "fb_mobile_activate_app", -- name of both events in the Facebook SDK
    expire_days = 7,           -- Meta refuses older events
    keep = require("figures").KEEP, -- how long the installs of a day are kept after the last one
    url = "",                  -- where conversions go; empty: the URL that the sink is configured with
    pixel_id = "",             -- replaces {pixel_id} in `url`
    url_bytes = 65536,         -- a longer link has no attribution
    value_bytes = 16384,       -- a longer value in a link is dropped
    device_bytes = 1024,       -- a longer value of the device counts as unknown
    users_kept = 100,          -- users whose accounts a device hears of; of more the first is let go
  },
  sinks = { "client", "conversions" },
}

require "settings"
require "events"

local subjects = require "subjects"
local launches = require "launches"
local consent = require "consent"
local deep_link = require "deep_link"
local linking = require "linking"
local meta = require "meta"
local profile = require "profile"

local is_device, is_user, is_known = subjects.is_device, subjects.is_user, launches.is_known

rule "launch" { on = "app.launched", when = is_known, run = launches.launched }
rule "unknown-platform" { on = "app.launched", when = launches.is_unknown, run = launches.on_unknown_platform }
rule "foreground" { on = "app.foregrounded", when = is_device, run = launches.foregrounded }
rule "answer" { on = "att.answered", when = is_device, run = consent.answered }
rule "email" { on = "email.submitted", when = is_device, run = launches.email_submitted }
rule "sign-in" { on = "user.authenticated", when = is_device, run = launches.authenticated }
rule "ask-again" { on = settings.reprompt_on, when = is_known, run = consent.ask_again }
rule "screen" { on = { "app.launched", "user.authenticated" }, when = is_known, run = launches.show }

-- An administrator may send these events as well, which come from nobody then.
local function told(is_one) return function(event) return is_one(event) and event.sender ~= nil end end

rule "link" { on = plugin.name .. ".linked", when = told(is_user), run = profile.linked }
rule "heard" { on = plugin.name .. ".heard", when = told(is_device), run = linking.heard }
rule "attributed" { on = plugin.name .. ".attributed", when = told(is_device), run = linking.attributed }
rule "delete-account" { on = "account.deleted", when = is_user, run = profile.deleted }
rule "owner-deleted" { on = plugin.name .. ".owner_deleted", when = told(is_device), run = profile.owner_deleted }
rule "device-left" { on = plugin.name .. ".device_left", when = told(is_user), run = profile.device_left }
rule "left" { on = plugin.name .. ".left", when = told(is_device), run = profile.left }

query "tracking" { about = "Whether Meta may be told, and when to ask again.", run = consent.tracking }
query "profile" { about = "A user's attribution and status of tracking.", run = profile.answer }
query "installs" {
  about = "Installs by where they came from, of the days that are kept.",
  args  = { from = "string?: the first day, such as 2025-11-01", to = "string?: the last one" },
  run   = deep_link.installs,
}

sink "conversions" (function(effect) return meta.request(effect, settings, now()) end)
