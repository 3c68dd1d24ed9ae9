-- A report passes consent, derived properties, plan and privacy; then it is sent and counted.

local days     = require "days"
local derive   = require "derive"
local people   = require "people"
local plan     = require "plan"
local reports  = require "reports"
local sessions = require "sessions"
local tally    = require "tally"

local function reject(name, violations)
  local known = reports.good_name(plan, name) and plan.events[name] ~= nil
  emit("rejected", "rejected", { event = known and name or json.null, violations = violations })
end

local function refuse(reason)
  decide("accepted", false)
  decide("reason", reason)
  return false
end

local function accept(state, source, name, properties)
  decide("accepted", true)
  emit("analytics", name, properties)
  if name == "app_opened" then days.opened(state) end
  local today = calendar.day(now(), "UTC")
  sessions.note(state, source, name, properties, today)
  people.note(state, name, properties, today)
  tally(state, name, properties, today)
end

--- Reports an event of the plan, for the event that tells of it. Returns whether it was accepted.
return function(state, event, name, properties)
  if not state.consent then return refuse "opted_out" end
  if properties == nil then properties = {} end
  local of = reports.good_name(plan, name) and plan.events[name]
  if of and type(properties) == "table" then
    properties = reports.listed(plan, of, properties)
    derive.add(state, event.source, of, properties)
  end
  local violations, is_refused = reports.violations(plan, name, properties, event.origin ~= "client")
  if is_refused then decide("violations", violations) end
  if not is_refused then accept(state, event.source, name, reports.leaving(plan, of, properties)) end
  if #violations > 0 then reject(name, violations) end
  return not is_refused or refuse "invalid"
end
