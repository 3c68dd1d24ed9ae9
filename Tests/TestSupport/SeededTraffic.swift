package import RuledCore

/// Rules that use every function that rules have, and random events for them.
package enum SeededTraffic {
  /// The rules, as the text of each plugin's `plugin.lua`; `factor` makes others of them.
  package static func rules(factor: Int = 1) -> [String: String] {
    let actor = """
      plugin { name = 'actor', sinks = { 'mail', 'client' }, settings = { words = 'hello' }, budget = { instructions = 300000 } }
      local fail = {
        error = function() error('no') end,
        state = function(state) state.bad = function() end end,
        value = function() decide('bad', 0 / 0) end,
        cycle = function() raise('cycle') end,
        instructions = function() while true do end end,
        odd = function(state) if now() // 1 % 3 == 0 then error('odd') end state.odd = (state.odd or 0) + 1 end,
      }
      local does = {
        state = function(state, op) state[op.key] = (state[op.key] or 0) + op.n * \(factor) end,
        list = function(state, op) state.list = state.list or array {} table.insert(state.list, math.random(1000)) end,
        drop = function(state, op) state[op.key] = nil end,
        decide = function(_, op) decide(op.key, { n = op.n, id = uuid(), words = settings.words }) end,
        emit = function(_, op) emit('mail', op.key, { n = op.n, at = now() }) end,
        keyed = function(_, op) emit('client', 'keyed', { n = op.n }, { key = op.key }) end,
        raise = function(_, op) raise('inner', { ops = { { op = 'state', key = 'raised', n = op.n } } }) end,
        send = function(_, op) send(op.to, 'noted', { n = op.n, ops = op.ops }) end,
        once = function(state, op) if once(op.key, op.n) then state.claimed = (state.claimed or 0) + 1 end end,
        timer = function(_, op) timer.set(op.key, now() + op.n, 'due', { n = op.n }) end,
        every = function(_, op) timer.every(op.key, { seconds = op.n + 20 }, 'due', { n = op.n }) end,
        cancel = function(_, op) timer.cancel(op.key) board.leave(op.key) end,
        due = function(_, op) decide('due', timer.due(op.key) or 'none') end,
        count = function(_, op) count('actor.' .. op.key, { k = op.key }, op.n) board.add(op.key, op.n % 5) end,
        forget = function() forget() end,
        past = function() forget { past = true } end,
        join = function(state, op) topic.join(op.key) state.joined = topic.joined('a') end,
        leave = function(state, op) topic.leave(op.key) state.joined = topic.joined('a') end,
        publish = function(_, op) publish(op.key, 'noted', { n = op.n, ops = op.ops }, { except = op.to }) end,
        day = function(state) state.day = calendar.date(now(), 'Europe/Berlin') end,
        fail = function(state, op) fail[op.how](state) end,
      }
      rule 'run' { on = { 'go', 'inner' }, run = function(event, state)
        for _, op in ipairs(event.data.ops) do does[op.op](state, op) end
      end }
      rule 'cycle' { on = 'cycle', run = function() raise('cycle') end }
      rule 'noted' { on = { 'noted', 'due' }, run = function(event, state)
        state.heard = ((state.heard or 0) * 31 + event.data.n + event.time // 1) % 1000003
        for _, op in ipairs(event.data.ops or {}) do does[op.op](state, op) end
      end }
      """
    let witness = """
      plugin { name = 'witness', sinks = { 'client' } }
      rule 'all' { on = '*', run = function(event, state)
        state.seen = (state.seen or 0) + 1
        local other = peek('actor')
        state.from = { event.origin, event.sender }
        state.peeked = other and other.heard
        if event.type ~= 'inner' then emit('client', event.type, { id = event.id, extension = event.flavour }) end
        if now() // 1 % 7 == 0 then error('seven') end
      end }
      """
    return ["actor": actor, "witness": witness]
  }

  private static let verbs = [
    "state", "list", "drop", "decide", "emit", "keyed", "raise", "send", "send", "once", "timer", "timer", "every",
    "cancel",
    "due", "count", "forget", "past", "day", "join", "join", "leave", "publish",
  ]

  /// One of a few subjects.
  package static func subject(_ random: inout SeededRandom) -> String {
    "user:\(Int.random(in: 0..<12, using: &random))"
  }

  private static func operations(_ random: inout SeededRandom, depth: Int = 0) -> JSONValue {
    let count = Int.random(in: 1...(depth == 0 ? 5 : 2), using: &random)
    return .array(
      (0..<count).map { _ in
        if Int.random(in: 0..<14, using: &random) == 0 {
          let hows = ["error", "state", "value", "cycle", "odd", "odd", "instructions"]
          return ["op": "fail", "how": .string(hows.randomElement(using: &random) ?? "error")]
        }
        let verb = verbs[Int.random(in: 0..<verbs.count, using: &random)]
        let key = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
        var op: JSONObject = [
          "op": .string(verb), "key": .string(key), "n": .integer(Int64.random(in: 1...90, using: &random)),
        ]
        if verb == "send" || verb == "publish" {
          op["to"] = .string(subject(&random))
          if depth < 3 { op["ops"] = operations(&random, depth: depth + 1) }
        }
        return .object(op)
      })
  }

  /// A random event of a client.
  package static func event(_ random: inout SeededRandom, id: String, at time: Timestamp) -> JSONObject {
    var event: JSONObject = [
      "type": "go", "subject": .string(subject(&random)), "id": .string(id), "data": ["ops": operations(&random)],
    ]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: event["flavour"] = "sweet"
    case 1: event["source"] = "app"
    case 2: event["time"] = .string(Timestamp(microseconds: time.microseconds - 5_000_000).rfc3339)
    case 3: event["explain"] = true
    case 4: event["from"] = "an extension that stored messages have too"
    default: break
    }
    return event
  }
}
