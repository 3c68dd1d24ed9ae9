-- The boss: where an install came from, when to ask for tracking, and which conversions go to Meta.
-- Each rule answers one event; the modules beside this file decide.

plugin {
  name = "attribution",
  version = "1.0.0",
  about = "Facebook attribution, App Tracking Transparency and conversion events of the boss.",
  settings = {
    reprompt_days = 14,        -- days of 24 hours between a prompt and the next
    facebook_sources = { "facebook" }, -- utm_source values that are Facebook's, in lower case
    counted_sources = { "facebook", "instagram", "google", "tiktok", "apple", "email" }, -- the others count as "other"
    client_event = "fb_mobile_activate_app", -- name of both events in the Facebook SDK
    expire_days = 7,           -- Meta refuses older events
    url = "",                  -- where conversions go; empty: the URL that the sink is configured with
    pixel_id = "",             -- replaces {pixel_id} in `url`
    url_bytes = 65536,         -- a longer link has no attribution
    value_bytes = 16384,       -- a longer value in a link is dropped
    device_bytes = 1024,       -- a longer value of the device counts as unknown
  },
  sinks = { "client", "conversions" },
}

require "settings"
require "events"

local subjects = require "subjects"
local launches = require "launches"
local consent = require "consent"
local deep_link = require "deep_link"
local meta = require "meta"
local profile = require "profile"

local is_device, is_user = subjects.is_device, subjects.is_user

rule "launch" { on = "app.launched", when = is_device, run = launches.launched }
rule "foreground" { on = "app.foregrounded", when = is_device, run = launches.foregrounded }
rule "answer" { on = "att.answered", when = is_device, run = consent.answered }
rule "email" { on = "email.submitted", when = is_device, run = launches.email_submitted }
rule "sign-in" { on = "user.authenticated", when = is_device, run = launches.authenticated }

rule "link" { on = "attribution.linked", when = is_user, run = profile.linked }
rule "delete-account" { on = "account.deleted", when = is_user, run = profile.deleted }
rule "deletion-waits" { on = "attribution.deletion_waits", when = is_user, run = profile.deletion_waits }
rule "erase-device" { on = "attribution.owner_deleted", when = is_device, run = profile.owner_deleted }

query "tracking" { about = "Whether Meta may be told, and when to ask again.", run = consent.tracking }
query "profile" { about = "A user's attribution and status of tracking.", run = profile.answer }
query "installs" { about = "Installs by where they came from.", run = deep_link.installs }

sink "conversions" (function(effect) return meta.request(effect, settings, now()) end)
