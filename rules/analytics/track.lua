-- A report passes consent, derived properties, plan and privacy; then it is sent and counted.

local days     = require "days"
local derive   = require "derive"
local people   = require "people"
local plan     = require "plan"
local property = require "property"
local sessions = require "sessions"
local tally    = require "tally"

local function refuse(name, violations)
  decide("accepted", false)
  decide("reason", "invalid")
  decide("violations", violations)
  local known = plan.good_name(name) and plan.events[name] ~= nil
  emit("rejected", "rejected", { event = known and name or json.null, violations = violations })
end

local function leaving(of, properties)
  local out = {}
  for key, one in pairs(of) do
    local value = properties[key]
    if value ~= nil and value ~= json.null then out[key] = property.leaving(one, value) end
  end
  return out
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
  local of = plan.good_name(name) and plan.events[name]
  if of and type(properties) == "table" then
    properties = plan.listed(of, properties)
    derive(state, of, properties)
  end
  local violations = plan.violations(name, properties)
  if #violations > 0 then
    refuse(name, violations)
    return false
  end
  accept(state, name, leaving(of, properties))
  return true
end
