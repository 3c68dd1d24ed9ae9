-- Options that make no sense, in each module that takes some.
local attention = require "attention"
local caps = require "caps"
local dedup = require "dedup"
local experiment = require "experiment"
local hours = require "hours"
local points = require "points"
local reprompt = require "reprompt"
local streak = require "streak"
local window = require "window"

-- Calls that take options, each with right ones.
local CALLS = {
  attention  = { function(o) attention.judge({}, o, 0, { kind = "a" }) end, {} },
  caps       = { function(o) caps.free({ o }, { 1 }) end, { n = 1, seconds = 5 } },
  dedup      = { function(o) dedup.window({}, o, 0, "a") end, { seconds = 60 } },
  experiment = { function(o) experiment.arm({}, o, "a") end, { name = "a", arms = { on = 1 }, holdout = 1 } },
  hours      = { function(o) hours.within(o, 0) end, { from = "22:00", to = "08:00", zone = "UTC" } },
  points     = { function(o) points.earn({}, o, 0, "a", 5) end, {} },
  reprompt   = { function(o) reprompt.due({}, o, 5, 0) end, { after = 5 } },
  streak     = { function(o) streak.touch({}, o, 1) end, { zone = "UTC" } },
  window     = { function(o) window.add({}, o, 0) end, { seconds = 60 } },
}

local NONE = {} -- stands for an option that is missing

local WRONG = {
  { "attention", "most_waiting", -1, "a whole number, 0 or more" },
  { "attention", "digest", { at = "18:00", zone = "UTC" }, "attention: digest: `kinds` is a table" },
  { "caps", "n", NONE, "a whole number, 0 or more" }, { "caps", "n", 1.5, "a whole number, 0 or more" },
  { "caps", "seconds", NONE, "a number above 0" },
  { "dedup", "most", 0, "a whole number above 0" }, { "dedup", "seconds", "60", "a number above 0" },
  { "experiment", "name", NONE, "a text" }, { "experiment", "arms", NONE, "a table" },
  { "experiment", "excludes", "b", "a table" },
  { "experiment", "layer", { weights = {} }, "experiment: layer: `name` is a text" },
  { "hours", "zone", "Mars/Base", "a time zone" }, { "hours", "to", NONE, "a text" },
  { "points", "history", -1, "a whole number, 0 or more" }, { "points", "expire_days", 0, "a number above 0" },
  { "points", "caps", { a = -1 }, "points: caps: `a` is a number, 0 or more" },
  { "points", "zone", "Mars/Base", "a time zone" },
  { "reprompt", "after", -1, "seconds, or a list of them" }, { "reprompt", "after", 0 / 0, "seconds, or a list of" },
  { "reprompt", "after", { 5, "6" }, "seconds, or a list of" }, { "reprompt", "after", {}, "seconds, or a list of" },
  { "reprompt", "after", NONE, "seconds, or a list of them" }, { "reprompt", "most", -1, "a whole number, 0 or more" },
  { "streak", "zone", NONE, "a time zone" }, { "streak", "unit", "year", "day, week or month" },
  { "streak", "late", -1, "a whole number, 0 or more" },
  { "streak", "freezes", { every = 0 }, "streak: freezes: `every` is a whole number above 0" },
  { "window", "most", 0, "a whole number above 0" }, { "window", "late", -1, "a number, 0 or more" },
}

local function with(right, name, value)
  local options = {}
  for key, one in pairs(right) do options[key] = one end
  options[name] = value ~= NONE and value or nil
  return options
end

test "an option that makes no sense is told by its name" (function(t)
  for _, case in pairs(CALLS) do case[1](case[2]) end
  for _, case in ipairs(WRONG) do
    local module, name, value, why = table.unpack(case)
    local call, right = table.unpack(CALLS[module])
    local told = why:find ":" and why or module .. ": `" .. name .. "` is " .. why
    local done, message = pcall(call, with(right, name, value))
    t:equal({ module, name, done, message:sub(1, #told) }, { module, name, false, told })
  end
end)
