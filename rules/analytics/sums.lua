-- The figures of all users, by day and by month. No counter has a subject.

local periods = require "periods"

return periods.new(plugin.name, settings.keep)
