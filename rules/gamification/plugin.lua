-- Vibe8's gamification: points for what a user does, a streak for coming back, milestones and tiers for staying.
-- This file declares the figures and maps events to the modules beside it, which decide.

plugin {
  name     = "gamification",
  version  = "1.0.0",
  about    = "Vibe8: points, streaks, milestones and tiers.",
  settings = {
    time_zone   = "UTC",                                     -- until the client sends the user's own
    actions     = {                                          -- which events earn what; see docs/adapting.md
      {
        on = "flirt.revealed", earns = "scroll_reveal", counts = true,
        tells = "flirt_revealed", with = { "reveal_method", "scroll_duration_ms", "flirt_index" },
      },
      {
        on = "flirt.copied", earns = "copy_flirt", unique = "flirt_index", when_off = true,
        tells = "flirt_copied", with = { "flirt_index", "tone_used", "quality_tier" }, tier = "quality_tier",
      },
      {
        on = "flirt.rated", earns = "rate_flirt", needs = { "rating" }, when_off = true,
        tells = "flirt_rated", with = { "rating", "flirt_index", "tone_used", "quality_tier" }, tier = "quality_tier",
      },
      { on = "flirts.generated", earns = "generate_flirts", renews = true, with = { "flirt_count" } },
      { on = "app.opened", earns = "daily_login", daily = true },
    },
    ranges      = {                                          -- of members of an action's data; others earn nothing
      rating = { lowest = 1, highest = 5 }, flirt_index = { lowest = 0, highest = 2 },
      flirt_count = { lowest = 1, highest = 3 }, scroll_duration_ms = { lowest = 0 },
    },
    points      = { scroll_reveal = 10, copy_flirt = 15, rate_flirt = 5, generate_flirts = 20, daily_login = 25 },
    cap         = 150,                                       -- how often each action earns in a civil day
    caps        = {},                                        -- of single actions: { copy_flirt = 20 }
    unique_days = 365,                                       -- for so long a repeat is known as one
    multipliers = { { streak = 7, times = 3 }, { streak = 3, times = 2 } },
    freezes     = { at_start = 1, every_days = 7, most = 2 },
    milestones  = {                                          -- by flirts revealed
      { type = "explorer", at = 10, reward = 100 },
      { type = "connoisseur", at = 50, reward = 500 },
      { type = "master", at = 100, reward = 1500 },
    },
    first_tier  = "bronze",                                  -- everyone's
    tiers       = {                                          -- any of the three unlocks; includes lower tiers
      { name = "silver", revealed = 10, streak = 3, spent = 200 },
      { name = "gold", revealed = 50, streak = 7, spent = 1000 },
      { name = "platinum", revealed = 100, streak = 30, spent = 3000 },
    },
    sign_ins    = { "user.authenticated", "app.launched", "app.foregrounded" },   -- whose `user` gets a device's points
    standings   = { bands = { 100, 500, 1000, 5000, 10000, 50000, 100000 } },   -- lower edges, by points
    history     = 100,                                       -- changes of points that are stored
    keep        = require("figures").KEEP,                   -- how long a day's sums are kept after the last change
    tutorial    = { "Scroll to Reveal", "Earn Points", "Build Your Streak" },
  },
}

require "settings"
require "events"

local account = require "account"
local actions = require "actions"
local catalogue = require "catalogue"
local moving = require "moving"
local standings = require "standings"
local subjects = require "subjects"
local tutorial = require "tutorial"
local wallet = require "wallet"

rule "activity" { on = catalogue.types, run = actions.perform }
rule "spending" { on = "points.spent", run = wallet.spend }
rule "toggle" { on = "settings.gamification_toggled", run = account.toggle }
rule "time zone" { on = "profile.updated", when = account.has_zone, run = account.move }
rule "sign-in" { on = settings.sign_ins, run = moving.leave }
rule "moved" { on = moving.TYPE, run = moving.arrive }
rule "tutorial" { on = { "tutorial.step_viewed", "tutorial.completed", "tutorial.skipped" }, run = tutorial }
rule "data exported" { on = "data.exported", run = account.exported }
rule "account deleted" { on = "account.deleted", when = subjects.is_user, run = account.ended }
rule "data deleted" { on = "data.deleted", run = account.deleted }

query "profile" { about = "Points, streak, tier and what comes next.", run = account.profile }
query "history" { about = "Changes of points, newest first; `limit` of them.", run = account.history }
query "export" {
  about = "Profile, history and settings of a user.", run = function(state) return account.export(state) end,
}
query "leaderboard" { about = "How many players there are, by bands of points.", run = standings.leaderboard }
query "totals" {
  about = "Points by day, of the days that are kept, and the present players by tier.",
  args  = { from = "string?: the first day, such as 2025-11-01", to = "string?: the last one" },
  run   = standings.totals,
}
