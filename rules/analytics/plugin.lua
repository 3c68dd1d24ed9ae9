-- analytics: what Vibe8 may learn about its users, and nothing more.
--
-- An event of the plan (plan.json) is checked for consent, plan and privacy, completed with what the plugin knows
-- (session, days, time of day), sent to the sink `analytics` and counted for the figures of `analytics.kpis`.
-- Events with underscores are reports and are only checked; events with a dot also change the user's state.

plugin {
  name    = "analytics",
  version = "1.0.0",
  about   = "Checks Vibe8's analytics events for consent, plan and privacy, and counts its key figures.",
  sinks   = { "analytics", "rejected" },
  budget  = { instructions = 5000000, memory_mib = 32 },   -- for the figures of a whole year
  settings = {
    session_minutes   = 30,        -- a session ends after so long without an event
    name_length       = 40,        -- the longest event name, error code or error type
    violations_listed = 100,       -- of one event, at most
    bins = {                       -- upper edges; above the last: "5000+"
      points          = { 100, 500, 1000, 5000 },
      flirts_revealed = { 10, 50, 100 },
    },
    parts_of_day = {               -- first hour of each; before the first it is still the last part
      { from = 5, name = "morning" }, { from = 12, name = "afternoon" },
      { from = 17, name = "evening" }, { from = 21, name = "night" },
    },
    pii = {
      text_length  = 100,                                       -- characters; more is free text
      members      = 200,                                       -- of one event's tables, at most, are looked at
      phone_digits = { international = 7, grouped = 9, plain = 10, most = 15 },
      card_digits  = { least = 13, most = 19 },
      names = {                                                 -- words in names of properties that hold personal data
        "name", "firstname", "lastname", "fullname", "surname", "username", "nickname", "email", "mail", "phone",
        "telephone", "mobile", "address", "street", "city", "zip", "postcode", "birthday", "birthdate", "birth",
        "dob", "age", "gender", "ssn", "passport", "ip", "latitude", "longitude", "lat", "lon", "location",
        "contact", "password",
      },
    },
    active_window_days = 7,        -- weekly active users look back over so many days
    streak_steps       = { 1, 3, 7 },
    retention_days     = { 1, 7, 30 },
    longest_range_days = 366,      -- the longest range of one query
  },
}

require "events"

sink "analytics" { anonymous = true }

local days     = require "days"
local kpis     = require "kpis"
local payload  = require "payload"
local plan     = require "plan"
local sessions = require "sessions"
local track    = require "track"

-- The product's events about a user, whether or not they are reports themselves.
local product = {
  "analytics.track", "app.opened", "data.deleted", "data.exported", "flirt.*", "flirts.generated", "points.spent",
  "profile.updated", "screen.viewed", "session.*", "settings.*", "tutorial.*",
}

local all = { table.unpack(product) }
table.move(plan.names, 1, #plan.names, #all + 1, all)

rule "first seen" { on = product, priority = 30, run = function(_, state) days.first_seen(state) end }

rule "session goes on" {
  on       = all,
  priority = 20,
  when     = function(_, state) return state.session ~= nil end,
  run      = function(_, state) sessions.go_on(state) end,
}

rule "report" { on = plan.names, run = function(event, state) track(state, event.type, event.data) end }

rule "report by name" {
  on  = "analytics.track",
  run = function(event, state) track(state, payload(event).name, payload(event).properties) end,
}

rule "app opened" { on = "app.opened", run = function(event, state) track(state, "app_opened", event.data) end }

rule "session started" {
  on  = "session.started",
  run = function(event, state)
    sessions.start(state, payload(event).session_id)
    track(state, "session_started", event.data)
  end,
}

rule "session ended" {
  on  = "session.ended",
  run = function(event, state)
    track(state, "session_ended", event.data)
    sessions.finish(state, payload(event).session_id)
  end,
}

rule "screen viewed" {
  on   = "screen.viewed",
  when = function(_, state) return state.session ~= nil end,
  run  = function(_, state) state.session.screens = state.session.screens + 1 end,
}

rule "flirts generated" {
  on   = "flirts.generated",
  when = function(_, state) return state.session ~= nil end,
  run  = function(_, state) state.session.sets_announced = state.session.sets_announced + 1 end,
}

rule "time zone" {
  on  = "profile.updated",
  run = function(event, state) days.move(state, payload(event).time_zone) end,
}

-- Consent starts before its report and ends after it: the last report is that consent ended.
rule "analytics toggled" {
  on  = "settings.analytics_toggled",
  run = function(event, state)
    local enabled = payload(event).enabled
    if enabled == true then state.consent = true end
    local new_state = enabled
    if type(enabled) == "boolean" then new_state = enabled and "enabled" or "disabled" end
    track(state, "settings_analytics_toggled", { new_state = new_state })
    if enabled == false then state.consent = nil end
  end,
}

-- The last report is always sent and counted (with its own id if no session is open). Then everything is erased,
-- consent included. Reports that other plugins raise about the same deletion find no consent; their reason does not
-- belong in this reply, so `reason` is decided here, first.
rule "data deleted" {
  on  = "data.deleted",
  run = function(_, state)
    local game = peek("gamification")
    local points = game and math.type(game.points) == "integer" and math.max(0, game.points) or 0
    local session = state.session and state.session.id or uuid()
    if track(state, "settings_data_deleted", { session_id = session, total_points_binned = points }) then
      decide("reason", json.null)
    end
    forget()
  end,
}

query "kpis" { about = "The key figures of the days `from` to `to`, and of the range.", run = kpis }
