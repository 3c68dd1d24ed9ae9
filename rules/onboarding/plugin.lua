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
    areas_achieved     = 3,                          -- for three_areas
    day_achieved       = 5,                          -- for five_in_a_day
    time_zone          = "UTC",                      -- whose civil days five_in_a_day counts
    radius_m           = 100,                        -- of a stamp without its own
    notifications_kept = 200,
    page               = 50,                         -- notifications in an answer
    area_members       = 4000,                       -- in one subject; further ones go to an annex
    id_bytes           = 128,                        -- the longest id of a user, post or area
    messages           = {
      welcome       = "Welcome! Claim your first stamp",
      follow        = "{actor} followed you",
      like          = "{actor} liked your stamp collection post",
      comment       = "{actor} commented on your stamp",
      mention       = "{actor} mentioned you",
      area_stamp    = "New stamps in your area",
      milestone     = "Collection milestone: {count}",
      three_areas   = "Achievement unlocked: stamps of three areas",
      five_in_a_day = "Achievement unlocked: five stamps in a day",
    },
  },
}

require "settings"
require "events"

local areas = require "areas"
local bell = require "bell"
local collection = require "collection"
local inbox = require "inbox"
local metrics = require "metrics"
local payload = require "payload"
local social = require "social"
local subjects = require "subjects"
local welcome = require "welcome"

local handled = {}

-- Declares a rule for events of one kind of subject.
local function rule_for(kind, name, types, run)
  for _, type in ipairs(types) do handled[#handled + 1] = type end
  rule(name) {
    on   = types,
    when = function(event) return subjects.id(kind, event.subject) ~= nil end,
    run  = function(event, state) run(state, payload(event), event) end,
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
rule_for("user:", "social", { "user.followed", "post.liked", "post.commented", "user.mentioned" }, social.tell)
rule_for("user:", "told by someone", { "social.told" }, social.told)
rule_for("user:", "area", { "area.entered", "area.left" }, areas.visit)
rule_for("user:", "told by an area", { "area.told" }, areas.told)
rule_for("area:", "a member comes", { "area.joined" }, areas.joined)
rule_for("area:", "a member leaves", { "area.parted" }, areas.parted)
rule_for("area:", "a stamp is published", { "stamp.published" }, areas.published)

-- The last rule: every handled event also decides the bell's badge.
rule "badge" { on = handled, priority = -10, run = function(_, state) decide("badge", inbox.unread(state)) end }

query "notifications" {
  about = "Notifications, newest first; `limit` of them, from before the one with the id `before`.",
  run   = function(state, args) return inbox.page(state or {}, settings.page, args.limit, args.before) end,
}
query "stamps" { about = "The stamps of a user.", run = collection.of }
query "metrics" { about = "How many users claimed their first stamp, and when.", run = metrics.report }
