-- analytics: what Vibe8 may learn about its users, and nothing more.
--
-- An event of the plan (plan.json) is checked for consent, plan and privacy, completed with what the plugin knows
-- (session, days, time of day), sent to the sink `analytics` and counted for the query `kpis` (figures.json).
-- Events with underscores are reports and are only checked; events with a dot also change the user's state.

plugin {
  name    = "analytics",
  version = "2.0.0",
  about   = "Checks Vibe8's analytics events for consent, plan and privacy, and counts its key figures.",
  sinks   = { "analytics", "rejected" },
  budget  = { instructions = 5000000, memory_mib = 32 },   -- a year of figures takes a tenth of it
  settings = {
    unknown_properties = "drop",   -- or "refuse": what becomes of a property that the plan does not have
    session_minutes    = 30,       -- a session ends after so long without an event
    sessions_open      = 10,       -- of one user, at most: one for each source
    name_length        = 40,       -- the longest event name, error code or error type
    violations_listed  = 100,      -- of one event, at most
    codes_a_day        = 50,       -- different error codes of one user that are counted; further ones are `other`
    keep               = require("figures").KEEP,   -- how long a figure is kept after it was counted last
    game               = "gamification",   -- the plugin whose points a deletion reports, as a range
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
      members      = 100,                     -- of one event's tables, or pieces of its texts, at most, are looked at
      phone_digits = { international = 7, grouped = 9, plain = 10, most = 15 },
      card_digits  = { least = 13, most = 19 },
      names = {                                                 -- words in names of properties that hold personal data
        "name", "firstname", "lastname", "fullname", "surname", "username", "nickname", "email", "mail", "phone",
        "telephone", "mobile", "address", "street", "city", "zip", "postcode", "birthday", "birthdate", "birth",
        "dob", "age", "gender", "ssn", "passport", "ip", "latitude", "longitude", "lat", "lon", "location",
        "contact", "password",
      },
    },
    users_do = {                   -- events that users cause, beside the reports of the plan: the first is the install
      "analytics.track", "app.opened", "data.deleted", "data.exported", "flirt.*", "flirts.generated", "points.spent",
      "profile.updated", "screen.viewed", "session.*", "settings.*", "tutorial.*",
    },
    active_window_days = 7,        -- weekly active users look back over so many days
    retention_days     = { 1, 7, 30 },
    daily_range_days   = 92,       -- a longer range has its figures by month
    longest_range_days = 366,      -- the longest range of one query
  },
}

require "settings"
require "events"

sink "analytics" { anonymous = true }
sink "rejected" { anonymous = true }

local consent  = require "consent"
local days     = require "days"
local kpis     = require "kpis"
local measures = require "measures"
local payload  = require "payload"
local plan     = require "plan"
local sessions = require "sessions"
local subjects = require "subjects"
local track    = require "track"

local all = { table.unpack(settings.users_do) }
table.move(plan.names, 1, #plan.names, #all + 1, all)

rule "first seen" { on = settings.users_do, priority = 30, run = function(_, state) days.first_seen(state) end }

rule "session goes on" {
  on       = all,
  priority = 20,
  when     = function(_, state) return state.sessions ~= nil end,
  run      = function(event, state) sessions.go_on(state, event.source) end,
}

rule "report" { on = plan.names, run = function(event, state) track(state, event, event.type, event.data) end }

rule "report by name" {
  on  = "analytics.track",
  run = function(event, state) track(state, event, payload(event).name, payload(event).properties) end,
}

-- Reports an event that the plan may have under another name.
local function tell(state, event, name)
  if plan.events[name] then track(state, event, name, event.data) end
end

rule "app opened" {
  on  = "app.opened",
  run = function(event, state)
    sessions.imply(state, event.source, payload(event).session_id)
    tell(state, event, "app_opened")
  end,
}

rule "session started" {
  on  = "session.started",
  run = function(event, state)
    sessions.start(state, event.source, payload(event).session_id)
    tell(state, event, "session_started")
  end,
}

rule "session ended" {
  on  = "session.ended",
  run = function(event, state)
    tell(state, event, "session_ended")
    sessions.finish(state, event.source, payload(event).session_id)
  end,
}

-- The events that count in a session, beside the reports of the plan.
local counted = {}
for _, types in pairs(measures.session_counts) do
  for _, type in ipairs(types) do
    if not plan.events[type] then counted[#counted + 1] = type end
  end
end

if #counted > 0 then
  rule "counted in the session" {
    on   = counted,
    when = function(event, state) return sessions.open(state, event.source) ~= nil end,
    run  = function(event, state) sessions.count(sessions.open(state, event.source), event.type) end,
  }
end

rule "time zone" {
  on  = "profile.updated",
  run = function(event, state) days.move(state, payload(event).time_zone) end,
}

rule "analytics toggled" {
  on  = "settings.analytics_toggled",
  run = function(event, state) consent.toggle(state, event, payload(event).enabled) end,
}

-- Nothing is reported: the user did not delete the data of analytics.
rule "account deleted" { on = "account.deleted", when = subjects.is_user, run = function() forget() end }

rule "data deleted" { on = "data.deleted", run = function(event, state) consent.delete(state, event) end }

query "kpis" {
  about = "The key figures of the days `from` to `to`, and of the range.",
  args  = {
    from = "string?: the first day, such as 2025-11-01", to = "string?: the last one",
    errors = "boolean?: false leaves errors out",
  },
  run   = kpis,
}
