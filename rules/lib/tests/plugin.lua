-- A plugin that only tests load: its rules call the modules that need an event, as an author's would.

plugin { name = "lib", about = "The rules of the library's tests.", sinks = { "client", "push", "backend" } }

local attention = require "attention"
local dedup = require "dedup"
local experiment = require "experiment"
local figures = require "figures"
local periods = require "periods"

rule "once" {
  on  = "lib.once",
  run = function(event) decide("first", dedup.once(event.data.about, event.data.id, event.data.more)) end,
}

rule "window" {
  on  = "lib.window",
  run = function(event, state) decide("counts", dedup.window(state, { seconds = 60 }, event.time, event.data.code)) end,
}

rule "pair" {
  on  = "lib.pair",
  run = function() decide("id", dedup.pair("Bought", "eventId", { client = { n = 1 }, backend = { n = 2 } })) end,
}

local BUDGET = {
  caps = { { n = 2, seconds = 3600 } }, quiet = { from = "22:00", to = "08:00", zone = "Europe/Berlin" },
}

local function send_due(state)
  local leaving = attention.release(state, BUDGET, now())
  for _, message in ipairs(leaving) do emit("push", message.kind, message.data or {}) end
end

rule "message" { on = "lib.message", run = function(event) attention.ask(event.data) end }

rule "attention" {
  on  = "attention.asked",
  run = function(event, state)
    local verdict, reason, till = attention.judge(state, BUDGET, now(), event.data)
    if verdict == "send" then emit("push", event.data.kind, event.data.data or {}) end
    if till then timer.set("attention", till, "attention.due", {}) end
    decide("verdict", { verdict = verdict, reason = reason })
  end,
}

rule "attention due" { on = "attention.due", run = function(_, state) send_due(state) end }

rule "experiment" {
  on  = "lib.experiment",
  run = function(event, state)
    local arm, more = experiment.expose(state, event.data.options, event.data.key)
    decide("arm", arm or "none")
    decide("more", more)
  end,
}

query "arm" (function(state, args) return { arm = experiment.known(state, args) } end)

local SOLD = periods.new("lib", "2d")

rule "periods" {
  on  = "lib.periods",
  run = function(event)
    local day, n = event.data.day, event.data.n
    periods.add(SOLD, "sold", day, n, { shop = "one" })
    periods.add(SOLD, "sold.books", day, n)
    periods.add_to_day(SOLD, "buyers", day)
    periods.add_ever(SOLD, "orders")
  end,
}

query "periods" (function(_, args)
  local first, last = table.unpack(args.months or {})
  local days, n = periods.days(SOLD, args.from, args.to, nil, args.most)
  return { sums = periods.sums(SOLD, first, last), days = days, counters = n }
end)

rule "figures" {
  on  = "lib.figures",
  run = function()
    figures.add("lib.installs", now(), { source = "ads" }, 1, { keep = figures.KEEP })
    count("lib.installs", { other = "true" })
  end,
}

query "figures" (function(_, args)
  local values, sum = figures.by("lib.installs", "source")
  return { days = figures.days("lib.installs", "source", "n", args), values = values, sum = sum }
end)
