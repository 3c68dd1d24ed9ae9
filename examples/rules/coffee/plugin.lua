-- A coffee card: ten coffees earn a free one, which lasts 30 days.
--
-- The till sends each sale with the number of its receipt, and may send it twice. A sale that is taken back takes its
-- stamps along.

plugin {
  name     = "coffee",
  version  = "1.0.0",
  about    = "Ten coffees earn a free one.",
  settings = { needed = 10, valid_days = 30, remind_days = 7, most_cups = 20, zone = "Europe/Berlin" },
  sinks    = { "push" },
}

event("coffee.bought", { receipt = "string: the till's number of the sale", cups = "integer?: 1 by default" },
  { about = "The till sold coffee." })
event("coffee.refunded", { receipt = "string: of the sale" }, { about = "The till took a sale back." })
event("coffee.redeemed", { receipt = "string" }, { about = "The customer drank a free coffee." })
event "coffee.one_missing" { from = "rules" }
event "coffee.free_expired" { from = "rules" }

state {
  version = 1,
  stamps = "integer?",        -- below 0 when stamps were taken back that had earned a coffee
  ["free?"] = { "number" },   -- when each free coffee expires, the first one first
  ["sales?"] = { { receipt = "string", cups = "integer" } },   -- the last ones, which can still be taken back
}

local SALES = 50

-- Free coffees that have not expired; the next one's end has a timer.
local function expire(state)
  local free = {}
  for _, ends in ipairs(state.free or {}) do
    if ends > now() then free[#free + 1] = ends end
  end
  state.free = free
  if free[1] then timer.set("free", free[1], "coffee.free_expired") else timer.cancel("free") end
end

local function earn(state)
  state.stamps = state.stamps - settings.needed
  local last = calendar.day(now(), settings.zone) + settings.valid_days
  state.free[#state.free + 1] = calendar.start(last + 1, settings.zone)
  emit("push", "free_coffee", { until_day = calendar.date(calendar.start(last, settings.zone), settings.zone) })
  count("coffee.earned", { month = calendar.month(now(), settings.zone) }, 1, { keep = "400d" })
end

-- Reminds at nine in the morning who lacks one stamp; each sale puts that off.
local function remind(state)
  if state.stamps ~= settings.needed - 1 then return timer.cancel("remind") end
  local day = calendar.day(now(), settings.zone) + settings.remind_days
  timer.set("remind", calendar.at(day, "09:00", settings.zone), "coffee.one_missing")
end

local function show(state)
  expire(state)
  remind(state)
  decide("card", { stamps = state.stamps, free = #state.free })
end

-- Takes the sale of a receipt out of the list; nil if it is not there.
local function take(sales, receipt)
  for i, sale in ipairs(sales) do
    if sale.receipt == receipt then return table.remove(sales, i) end
  end
  return nil
end

rule "bought" {
  on  = "coffee.bought",
  run = function(event, state)
    local cups = event.data.cups or 1
    if cups < 1 or cups > settings.most_cups then return decide("error", "cups") end
    state.stamps, state.free, state.sales = state.stamps or 0, state.free or {}, state.sales or {}
    if once("bought " .. event.data.receipt) then
      state.stamps = state.stamps + cups
      while state.stamps >= settings.needed do earn(state) end
      table.insert(state.sales, { receipt = event.data.receipt, cups = cups })
      if #state.sales > SALES then table.remove(state.sales, 1) end
    end
    show(state)
  end,
}

rule "refunded" {
  on  = "coffee.refunded",
  run = function(event, state)
    local sale = take(state.sales or {}, event.data.receipt)
    if not sale then return decide("error", "unknown_receipt") end
    state.stamps = state.stamps - sale.cups
    -- The earnings of these stamps go first, then the card owes them.
    while state.stamps < 0 and table.remove(state.free) do state.stamps = state.stamps + settings.needed end
    show(state)
  end,
}

rule "redeemed" {
  on  = "coffee.redeemed",
  run = function(event, state)
    if not once("redeemed " .. event.data.receipt) then return show(state) end
    expire(state)
    if not state.free[1] then return decide("error", "no_free_coffee") end
    table.remove(state.free, 1)
    count("coffee.drunk", { month = calendar.month(now(), settings.zone) }, 1, { keep = "400d" })
    show(state)
  end,
}

rule "remind" {
  on  = "coffee.one_missing",
  run = function() emit("push", "one_missing", { needed = settings.needed }) end,
}

rule "expired" { on = "coffee.free_expired", run = function(_, state) expire(state) end }

query "card" (function(state)
  local free = 0
  for _, ends in ipairs(state and state.free or {}) do
    if ends > now() then free = free + 1 end
  end
  return { stamps = state and state.stamps or 0, free = free, needed = settings.needed }
end)
