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

require "events"

local subjects = require "subjects"
local launches = require "launches"
local consent = require "consent"
local sign_in = require "sign_in"
local profile = require "profile"
local account = require "account"
local meta = require "meta"
local sources = require "sources"

rule "launch" { on = "app.launched", when = subjects.is_device, run = launches.launched }
rule "foreground" { on = "app.foregrounded", when = subjects.is_device, run = launches.foregrounded }
rule "answer" { on = "att.answered", when = subjects.is_device, run = consent.answered }
rule "email" { on = "email.submitted", when = subjects.is_device, run = sign_in.email_submitted }
rule "sign-in" { on = "user.authenticated", when = subjects.is_device, run = sign_in.authenticated }

rule "link" { on = "attribution.linked", when = subjects.is_user, run = profile.linked }
rule "delete-account" { on = "account.deleted", when = subjects.is_user, run = account.deleted }
rule "deletion-waits" { on = "attribution.deletion_waits", when = subjects.is_user, run = account.deletion_waits }
rule "erase-device" { on = "attribution.owner_deleted", when = subjects.is_device, run = account.owner_deleted }

query "tracking" { about = "Whether Meta may be told, and when to ask again.", run = consent.tracking }
query "profile" { about = "A user's attribution and status of tracking.", run = profile.answer }
query "installs" { about = "Installs by where they came from.", run = sources.installs }

sink "conversions" (meta.request)
