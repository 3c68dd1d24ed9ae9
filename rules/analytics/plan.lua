-- The plan: which events exist, and what each may say.

local fields  = require "fields"
local reports = require "reports"

local FILE = "plan.json"
local PLAN = data("plan.json")

fields.check_members(FILE, PLAN, { "events" })

return reports.new(FILE, PLAN.events, {
  name_length = settings.name_length, violations_listed = settings.violations_listed, bins = settings.bins,
  pii = settings.pii, unknown_properties = settings.unknown_properties,
})
