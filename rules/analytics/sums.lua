-- The figures of all users, by day and by month. No counter has a subject. Each group has names of its own, so that a
-- query reads those that it needs.

local periods = require "periods"

local function group(name) return periods.new(plugin.name .. name, settings.keep) end

return {
  figures = group "",           -- those of figures.json, of sessions and of errors
  users   = group ".users",     -- active ones, by day alone
  cohorts = group ".cohorts",   -- installs, and those of them who came back
  reached = group ".reached",   -- steps of ladders
  errors  = group ".errors",    -- by type and code: as many as clients make up
}
