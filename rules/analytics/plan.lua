-- The plan: which events exist, and what each may say.

local reports = require "reports"

return reports.new("plan.json", data("plan.json").events, {
  name_length = settings.name_length, violations_listed = settings.violations_listed, bins = settings.bins,
  pii = settings.pii, unknown_properties = settings.unknown_properties,
})
