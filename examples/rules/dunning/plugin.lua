-- Dunning: an invoice that is not paid is asked for three times, on working days at nine, then handed to collection.
--
-- The subject is the invoice. Each step has a fee from the second one on. A dispute stops the clock, a payment of all
-- that is due ends it.

plugin {
  name     = "dunning",
  version  = "1.0.0",
  about    = "Asks for unpaid invoices.",
  settings = { steps = { 7, 14, 28 }, fees = { 0, 500, 1000 }, zone = "Europe/Berlin", holidays = {} },
  sinks    = { "mail", "collection" },
}

event("invoice.issued", {
  amount   = "integer: in cents",
  due      = "string: the last day to pay, YYYY-MM-DD",
  customer = "string",
}, { about = "An invoice was sent." })
event("invoice.paid", { payment = "string: the bank's number", amount = "integer: in cents" },
  { about = "Money came." })
event("invoice.disputed", {}, { about = "The customer objects." })
event("invoice.settled", { amount = "integer: what is due now, in cents" }, { about = "A dispute ended." })
event "invoice.overdue" { from = "rules", step = "integer" }

state {
  version = 1,
  customer = "string?",
  open = "integer?",        -- what is due, with fees, in cents
  due_day = "integer?",     -- the last day to pay, as calendar.day counts
  step = "integer?",        -- how often it was asked for
  disputed = "boolean?",
}

-- The first working day from `day` on, at nine.
local function morning(day)
  while not calendar.workday(day, settings.holidays) do day = day + 1 end
  return calendar.at(day, "09:00", settings.zone)
end

local function wait(state)
  local step = state.step + 1
  local days = settings.steps[step] or (settings.steps[#settings.steps] + settings.steps[1])
  timer.set("next", morning(state.due_day + days), "invoice.overdue", { step = step })
end

local function finish(state, how)
  timer.cancel("next")
  state.open = 0
  state.disputed = nil
  local month = calendar.month(now(), settings.zone)
  count("dunning.ended", { how = how, step = state.step, month = month }, 1, { keep = "800d" })
  decide("invoice", how)
end

rule "issued" {
  on  = "invoice.issued",
  when = function(event) return event.data.amount > 0 end,
  run = function(event, state)
    local due = calendar.parse(event.data.due .. "T12:00:00Z")
    if not due then return decide("error", "due") end
    if not once("issued") then return end
    state.customer, state.open, state.step = event.data.customer, event.data.amount, 0
    state.due_day = calendar.day(due, "UTC")
    wait(state)
    decide("invoice", "open")
  end,
}

rule "paid" {
  on   = "invoice.paid",
  when = function(event, state) return (state.open or 0) > 0 and event.data.amount > 0 end,
  run  = function(event, state)
    if not once("payment " .. event.data.payment) then return end
    state.open = math.max(state.open - event.data.amount, 0)
    if state.open == 0 then return finish(state, "paid") end
    decide("invoice", "open")
  end,
}

rule "disputed" {
  on   = "invoice.disputed",
  when = function(_, state) return (state.open or 0) > 0 end,
  run  = function(_, state)
    state.disputed = true
    timer.cancel("next")
    decide("invoice", "disputed")
  end,
}

rule "settled" {
  on   = "invoice.settled",
  when = function(_, state) return state.disputed end,
  run  = function(event, state)
    state.disputed = nil
    state.open = math.max(event.data.amount, 0)
    if state.open == 0 then return finish(state, "cancelled") end
    -- The customer has as many days again as had passed when the dispute began.
    state.due_day = calendar.day(now(), settings.zone) + settings.steps[1]
    wait(state)
    decide("invoice", "open")
  end,
}

rule "overdue" {
  on   = "invoice.overdue",
  when = function(event, state) return (state.open or 0) > 0 and event.data.step == state.step + 1 end,
  run  = function(event, state)
    state.step = event.data.step
    if state.step > #settings.steps then
      emit("collection", "claim", { customer = state.customer, amount = state.open }, { key = "claim" })
      return finish(state, "collection")
    end
    state.open = state.open + settings.fees[state.step]
    emit("mail", "reminder", { customer = state.customer, amount = state.open, step = state.step })
    wait(state)
    decide("invoice", "reminded")
  end,
}

query "invoice" (function(state)
  if not state then return { open = 0, step = 0, disputed = false } end
  return { open = state.open or 0, step = state.step or 0, disputed = state.disputed or false }
end)
