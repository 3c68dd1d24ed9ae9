-- Records every event in each kind of data that a commit can have, so that the applied events can be checked exactly:
-- each number of a subject once, in order except those that were refused and sent again, with its messages, timers,
-- effects, `once` keys and counters.
plugin { name = "tally", version = "1", sinks = { "ledger" } }

local function add(state, name) state[name] = (state[name] or 0) + 1 end

rule "hit" {
  on = "hit",
  run = function(event, state)
    local n = event.data.n
    local last = state.last or 0
    local missing = state.missing or {}
    add(state, "count")
    if n > last then
      for gap = last + 1, n - 1 do missing[tostring(gap)] = true end
      state.last = n
    elseif missing[tostring(n)] then
      missing[tostring(n)] = nil
      decide("late", true)
    else
      add(state, "twice")
    end
    state.missing = missing
    count("tally.hits")
    if once("seven:" .. (n - 1) // 7) then add(state, "sevens") end
    if n % 10 == 0 then
      add(state, "sent")
      emit("ledger", "ten", { subject = event.subject, n = n }, { key = "ten:" .. n })
      send(event.data.to, "ten", { from = event.subject, k = state.sent })
    end
    if n % 10 == 5 then
      add(state, "armed")
      local pending = state.pending or {}
      pending[tostring(state.armed)] = true
      state.pending = pending
      timer.set("tick:" .. state.armed, now() + event.data.delay, "tick", { k = state.armed })
    end
    decide("count", state.count)
  end,
}

rule "ten" {
  on = "ten",
  run = function(event, state)
    local from = event.data.from
    state.tens = (state.tens or 0) + 1
    state.last = state.last or {}
    if event.data.k ~= (state.last[from] or 0) + 1 then add(state, "disorder") end
    state.last[from] = event.data.k
    count("tally.tens")
  end,
}

rule "tick" {
  on = "tick",
  run = function(event, state)
    local k = tostring(event.data.k)
    add(state, "ticked")
    if state.pending and state.pending[k] then state.pending[k] = nil else add(state, "tickedTwice") end
    count("tally.ticks")
  end,
}
