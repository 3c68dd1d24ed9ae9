-- Class bookings: a class has so many places; who finds none waits, and gets the first that is given up.
--
-- A user asks on their own subject; the class, a subject of its own, gives the places in the order of the asking. All
-- who have one are members of the class's topic, and hear what happens to it. A place can be given up until six in the
-- evening of the last working day before the class, when everybody is reminded.

local fields = require "fields"

plugin {
  name     = "classes",
  version  = "1.0.0",
  about    = "Places in classes, and a waiting list.",
  settings = { closes = "18:00", zone = "Europe/Berlin", holidays = {} },
  sinks    = { "push" },
}

event("class.planned", { starts = "string: RFC 3339", places = "integer" }, { about = "The studio offers a class." })
event("class.called_off", {}, { about = "The class does not take place." })
event("booking.wanted", { class = "string: the class's subject" }, { about = "A user wants a place." })
event("booking.given_up", { class = "string" }, { about = "A user does not want it any more." })
event "place.asked" { from = "rules" }
event "place.returned" { from = "rules" }
event "place.answered" { from = "rules", class = "string", answer = "string" }
event "class.closing" { from = "rules" }
event "class.told" { from = "rules", class = "string", what = "string", starts = "number" }

state {
  version = 1,
  -- Of a class.
  starts = "number?", places = "integer?", closed = "boolean?",
  ["booked?"] = { { who = "string" } }, ["waiting?"] = { { who = "string" } },
  -- Of a user: what became of each booking.
  bookings = "object?",
}

-- The evening of the last working day before a moment.
local function closing(at)
  local day = calendar.day(at, settings.zone) - 1
  while not calendar.workday(day, settings.holidays) do day = day - 1 end
  return calendar.at(day, settings.closes, settings.zone)
end

rule "planned" {
  on   = "class.planned",
  when = function(event, state) return not state.starts and calendar.parse(event.data.starts) end,
  run  = function(event, state)
    state.starts, state.places = calendar.parse(event.data.starts), event.data.places
    state.booked, state.waiting = {}, {}
    timer.set("closing", closing(state.starts), "class.closing")
  end,
}

-- The question of a user is passed on to the class; the answer comes back as an event.
rule "wanted" { on = "booking.wanted", run = function(event) send(event.data.class, "place.asked") end }

rule "given up" { on = "booking.given_up", run = function(event) send(event.data.class, "place.returned") end }

local function answer(event, who, what) send(who, "place.answered", { class = event.subject, answer = what }) end

rule "asked" {
  on  = "place.asked",
  run = function(event, state)
    local who = event.sender
    if not state.starts or state.closed then return answer(event, who, "closed") end
    if fields.find(state.booked, "who", who) or fields.find(state.waiting, "who", who) then return end
    local list = #state.booked < state.places and "booked" or "waiting"
    table.insert(state[list], { who = who })
    answer(event, who, list)
  end,
}

rule "returned" {
  on   = "place.returned",
  when = function(_, state) return state.starts end,
  run  = function(event, state)
    if state.closed then return answer(event, event.sender, "too_late") end
    local waits, has = fields.find(state.waiting, "who", event.sender), fields.find(state.booked, "who", event.sender)
    if waits then table.remove(state.waiting, waits) end
    if has then table.remove(state.booked, has) end
    answer(event, event.sender, "given_up")
    local first = has and table.remove(state.waiting, 1)
    if not first then return end
    table.insert(state.booked, first)
    answer(event, first.who, "booked")
  end,
}

local function tell(event, state, what)
  state.closed = true
  publish(event.subject, "class.told", { class = event.subject, what = what, starts = state.starts })
end

rule "closing" { on = "class.closing", run = function(event, state) tell(event, state, "reminder") end }

rule "called off" {
  on   = "class.called_off",
  when = function(_, state) return state.starts end,
  run  = function(event, state)
    timer.cancel("closing")
    tell(event, state, "called_off")
  end,
}

rule "answered" {
  on  = "place.answered",
  run = function(event, state)
    local class, what = event.data.class, event.data.answer
    emit("push", what, { class = class })
    if what == "too_late" or what == "closed" then return end
    state.bookings = state.bookings or {}
    state.bookings[class] = what
    if what == "booked" then topic.join(class) else topic.leave(class) end
  end,
}

rule "told" {
  on  = "class.told",
  run = function(event) emit("push", event.data.what, { class = event.data.class, starts = event.data.starts }) end,
}

query "class" {
  args = { class = "string: the class's subject, which is that of the query" },
  run  = function(state, args)
    return { booked = #(state.booked or {}), waiting = #(state.waiting or {}), members = topic.count(args.class) }
  end,
}

query "bookings" (function(state) return state and state.bookings or {} end)
