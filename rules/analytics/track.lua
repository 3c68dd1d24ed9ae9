-- A report passes consent, derived properties, plan and privacy; then it is sent and counted.

local days     = require "days"
local derive   = require "derive"
local people   = require "people"
local plan     = require "plan"
local reports  = require "reports"
local sessions = require "sessions"
local tally    = require "tally"

local function refuse(name, violations)
  decide("accepted", false)
  decide("reason", "invalid")
  decide("violations", violations)
  local known = reports.good_name(plan, name) and plan.events[name] ~= nil
  emit("rejected", "rejected", { event = known and name or json.null, violations = violations })
end

local function accept(state, name, properties)
  decide("accepted", true)
  emit("analytics", name, properties)
  if name == "app_opened" then days.opened(state) end
  local first_error = sessions.note(state, name, properties)
  people.note(state, name, properties)
  tally(name, properties, first_error)
end

--- Reports an event of the plan. Returns whether it was accepted.
return function(state, name, properties)
  if not state.consent then
    decide("accepted", false)
    decide("reason", "opted_out")
    return false
  end
  if properties == nil then properties = {} end
  local of = reports.good_name(plan, name) and plan.events[name]
  if of and type(properties) == "table" then
    properties = reports.listed(plan, of, properties)
    derive(state, of, properties)
  end
  local violations = reports.violations(plan, name, properties)
  if #violations > 0 then
    refuse(name, violations)
    return false
  end
  accept(state, name, reports.leaving(plan, of, properties))
  return true
end
