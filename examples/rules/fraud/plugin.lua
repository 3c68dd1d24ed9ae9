-- Card fraud: payments of a card that are too many, too much or too far apart, old terminals, and suspicious networks.
--
-- The subject is the card. Terminals tell of payments late and twice; a payment is judged by its own time, and counts
-- once. A card that is blocked stays so for a day, or until the bank releases it.

local window = require "window"

plugin {
  name     = "fraud",
  version  = "1.0.0",
  about    = "Stops stolen cards.",
  settings = {
    in_a_minute = 5, cents_in_an_hour = 200000, countries_in_a_day = 2, late_seconds = 600,
    blocked_hours = 24, terminal = "2.4.0", networks = { "203.0.113.0/24", "2001:db8::/32" },
  },
  sinks    = { "bank" },
}

event("card.used", {
  payment  = "string: the terminal's number of it",
  cents    = "integer",
  country  = "string",
  terminal = "string?: the version of its software",
  address  = "string?: the network address of who pays, of a shop on the net",
}, { about = "Somebody pays. The answer is the decision 'payment'." })
event("card.released", {}, { about = "The bank knows that the card is with its owner." })
event "card.unblocked" { from = "rules" }

state {
  version = 1,
  ["payments?"]  = { times = "array", values = "array", ids = "array", lost = "number?" },   -- cents, of window
  ["countries?"] = { times = "array", values = "array", ids = "array", lost = "number?" },
  blocked = "string?",   -- why
}

local LATE, DAY = settings.late_seconds, 86400
local MINUTE = { seconds = 60, late = LATE }
local HOUR = { seconds = 3600, late = LATE }
local COUNTRIES = { seconds = DAY, most = 500, late = LATE }

-- Why the payment itself can't be right; nil if it can.
local function suspicion(data)
  if data.terminal and (semver.compare(data.terminal, settings.terminal) or -1) < 0 then return "terminal" end
  for _, network in ipairs(data.address and settings.networks or {}) do
    if ip.within(data.address, network) then return "network" end
  end
end

-- The limit that the card's payments, with this one, exceed; nil if nothing. A window that is not exact is more
-- than full.
local function excess(state, at)
  local n = window.count(state.payments, MINUTE, at)
  local cents, exact = window.sum(state.payments, HOUR, at)
  if n > settings.in_a_minute or not exact then return "too_often" end
  if cents > settings.cents_in_an_hour then return "too_much" end
  if window.distinct(state.countries, COUNTRIES, at) > settings.countries_in_a_day then return "too_far" end
end

local function block(state, why)
  state.blocked = why
  timer.set("unblock", now() + settings.blocked_hours * 3600, "card.unblocked")
  emit("bank", "card_blocked", { why = why })
  count("fraud.blocked", { why = why, month = calendar.month(now(), "UTC") }, 1, { keep = "800d" })
end

rule "used" {
  on  = "card.used",
  run = function(event, state)
    local data, at = event.data, event.time
    at = math.min(at, now()) -- a terminal's clock may be ahead
    state.payments, state.countries = state.payments or {}, state.countries or {}
    window.add(state.payments, HOUR, at, data.cents, data.payment)
    window.add(state.countries, COUNTRIES, at, data.country, data.payment)
    local why = not state.blocked and excess(state, at)
    if why then block(state, why) end
    why = state.blocked or suspicion(data)
    decide("payment", { allowed = not why, why = why })
  end,
}

rule "released" {
  on   = { "card.released", "card.unblocked" },
  when = function(_, state) return state.blocked end,
  run  = function(_, state)
    timer.cancel("unblock")
    state.blocked, state.payments, state.countries = nil, nil, nil
  end,
}

query "card" (function(state, _)
  return { blocked = state and state.blocked, payments = window.count(state and state.payments or {}, HOUR, now()) }
end)
