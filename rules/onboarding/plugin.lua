-- Stampbook's onboarding: a bell, a welcome, and a first stamp that can be claimed from anywhere.
-- This file declares the figures and maps events to the modules beside it, which decide.

plugin {
  name     = "onboarding",
  version  = "1.0.0",
  about    = "Stampbook: the notification bell, the welcome stamp and what follows it.",
  settings = {
    sender             = "Stampbook Team",
    welcome_stamp      = "welcome",
    auto_claim_days    = 0,                          -- 0 is off
    milestones         = { 1, 5, 10, 25, 50, 100 },  -- stamps claimed
    achievements       = {                           -- once `measure` is `at`: stamps, areas, or stamps of a day
      { name = "three_areas", measure = "areas", at = 3 },
      { name = "five_in_a_day", measure = "day", at = 5 },
    },
    keep               = require("figures").KEEP,    -- how long a day's metrics are kept after the last change
    claim_windows      = { ["24h"] = 24, ["7d"] = 168 },   -- hours from the sign-up to the welcome stamp
    time_zone          = "UTC",                      -- whose civil days count, until the user's own is told
    radius_m           = 100,                        -- of a stamp without its own
    too_fast           = { km_h = 1000, from_km = 50 },    -- between claims; 0 km_h is off
    notifications_kept = 200,
    areas_kept         = 100,                        -- areas that a user is in; of more the first is left
    unique_days        = 365,                        -- for so long the same like, follow or mention is known as one
    page               = 50,                         -- notifications in an answer
    catalogue_page     = 500,                        -- stamps in an answer
    id_bytes           = 128,                        -- the longest id of a user, post or area
    name_bytes         = 128,                        -- the longest name of a user
    social             = {                           -- `whom` names the other user, `about` what it is about
      ["user.followed"]  = { kind = "follow", whom = "target" },
      ["post.liked"]     = { kind = "like", whom = "owner", about = "post" },
      ["post.commented"] = { kind = "comment", whom = "owner", about = "post", each = true },
      ["user.mentioned"] = { kind = "mention", whom = "target", about = "post" },
    },
    messages           = {                           -- in English; beside them, by locale
      welcome       = "Welcome! Claim your first stamp",
      someone       = "Someone",
      follow        = "{actor} followed you",
      like          = "{actor} liked your stamp collection post",
      comment       = "{actor} commented on your stamp",
      mention       = "{actor} mentioned you",
      area_stamp    = "New stamps in your area: {stamp}",
      milestone     = "Collection milestone: {count}",
      one_stamp     = "1 stamp",
      stamps        = "{n} stamps",
      three_areas   = "Achievement unlocked: stamps of three areas",
      five_in_a_day = "Achievement unlocked: five stamps in a day",
      de            = {
        welcome       = "Willkommen! Hol dir deinen ersten Stempel",
        someone       = "Jemand",
        follow        = "{actor} folgt dir jetzt",
        like          = "{actor} gefällt ein Beitrag deiner Stempelsammlung",
        comment       = "{actor} hat deinen Stempel kommentiert",
        mention       = "{actor} hat dich erwähnt",
        area_stamp    = "Neue Stempel in deiner Gegend: {stamp}",
        milestone     = "Meilenstein deiner Sammlung: {count}",
        one_stamp     = "1 Stempel",
        stamps        = "{n} Stempel",
        three_areas   = "Erfolg freigeschaltet: Stempel aus drei Gegenden",
        five_in_a_day = "Erfolg freigeschaltet: fünf Stempel an einem Tag",
      },
    },
  },
}

require "settings"
require "events"
require "shape"

local account = require "account"
local areas = require "areas"
local bell = require "bell"
local collection = require "collection"
local inbox = require "inbox"
local lists = require "lists"
local metrics = require "metrics"
local payload = require "payload"
local profile = require "profile"
local social = require "social"
local subjects = require "subjects"
local welcome = require "welcome"

local handled = {}

-- Whether an event is none that a copy of this plugin made.
local function is_ours(event)
  local maker = payload(event).plugin
  return event.origin == "client" or maker == nil or maker == plugin.name
end

-- Declares a rule for events of one kind of subject. A state of earlier rules first joins the topics that these have.
local function rule_for(kind, name, types, run)
  for _, type in ipairs(types) do handled[#handled + 1] = type end
  rule(name) {
    on   = types,
    when = function(event) return subjects.id(kind, event.subject) ~= nil and is_ours(event) end,
    run  = function(event, state)
      if state.unjoined then bell.join(state) end
      run(state, payload(event), event)
    end,
  }
end

rule_for("user:", "sign in", { "user.signed_in" }, welcome.sign_in)
rule_for("user:", "claim", { "stamp.claim" }, collection.claim)
rule_for("user:", "automatic claim", { "welcome.claim_due" }, collection.claim_due)
rule_for("user:", "one notification", {
  "notification.read", "notification.unread", "notification.dismissed",
}, bell.mark)
rule_for("user:", "all notifications", { "notifications.read_all" }, inbox.read_all)
rule_for("user:", "bell", { "bell.opened" }, metrics.bell_opened)
rule_for("user:", "social", social.types, social.tell)
rule_for("user:", "told by someone", { "social.told" }, social.told)
rule_for("user:", "into an area", { "area.entered" }, areas.enter)
rule_for("user:", "out of an area", { "area.left" }, areas.leave)
rule_for("user:", "told by an area", { "area.told" }, areas.told)
rule_for("", "a stamp is published", { "stamp.published" }, areas.published)
rule_for("area:", "more of a list", { "area.publish_due" }, lists.publish)
rule_for("area:", "off the list", { "area.parted" }, lists.parted)
rule_for("user:", "profile", { "profile.updated" }, profile.update)
rule_for("user:", "account", { "account.deleted" }, account.deleted)
rule_for("erased:", "account erased", { "account.erased" }, account.erased)
rule_for("user:", "another account erased", { "person.erased" }, account.other_erased)

rule "window closed" {
  on   = "claim.window_closed",
  when = is_ours,
  run  = function(_, state) metrics.record(state) end,
}

rule "active" {
  on       = handled,
  priority = 5,
  when     = function(event) return event.origin == "client" and subjects.id("user:", event.subject) ~= nil end,
  run      = function(_, state) metrics.active(state) end,
}

-- The last rule: every handled event also decides the bell's badge. Some types are also those of devices.
rule "badge" {
  on       = handled,
  priority = -10,
  when     = function(event) return not subjects.is_device(event) end,
  run      = function(_, state) decide("badge", inbox.unread(state)) end,
}

query "notifications" {
  about = "Notifications, newest first; `limit` of them, from before the one with the id `before`.",
  run   = function(state, args) return inbox.page(state or {}, settings.page, args.limit, args.before) end,
}
query "stamps" { about = "The stamps of a user.", run = collection.of }
query "catalogue" {
  about = "The stamps that there are, in the order of stamps.json, with name, image and place.",
  args  = {
    area = "string?: only those of this area", limit = "integer?: so many", after = "string?: those behind this one",
  },
  run   = collection.catalogue,
}
query "metrics" {
  about = "How many users claimed their first stamp, and when; of the days that are kept, or of `from` to `to`.",
  args  = { from = "string?: the first day of the sign-up, such as 2025-11-01", to = "string?: the last one" },
  run   = metrics.report,
}
