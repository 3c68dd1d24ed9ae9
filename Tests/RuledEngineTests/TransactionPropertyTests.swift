import RuledCore
import RuledEngine
import RuledStore
import TestSupport
import Testing

/// Random rules that fail at random points leave no trace: an engine that saw their events is, but for what it parked, like one for
/// which they did nothing.
@Suite struct TransactionPropertyTests {
  private static let plugin = """
    local function bad() end
    local fail = {
      error = function() error('no') end,
      state = function(state) state.bad = bad end,
      value = function() decide('bad', bad) end,
      instructions = function() while true do end end,
      cycle = function() raise('cycle') end,
      memory = function() local text = string.rep('x', 1024) while true do text = text .. text end end,
    }
    local does = {
      state = function(state, op) state[op.key] = (state[op.key] or 0) + op.n end,
      list = function(state, op) state.list = state.list or array {} state.list[#state.list + 1] = op.n end,
      drop = function(state, op) state[op.key] = nil end,
      decide = function(_, op) decide(op.key, op.n) end,
      emit = function(_, op) emit('mail', op.key, { n = op.n }) end,
      keyed = function(_, op) emit('mail', 'keyed', { n = op.n }, { key = op.key }) end,
      raise = function(_, op) raise('inner', { ops = { { op = 'state', key = 'raised', n = op.n } } }) end,
      send = function(_, op) send('user:other', 'noted', { n = op.n }) end,
      once = function(state, op) if once(op.key, op.n) then state.claimed = (state.claimed or 0) + 1 end end,
      timer = function(_, op) timer.set(op.key, now() + op.n, 'due', { n = op.n }) end,
      cancel = function(_, op) timer.cancel(op.key) end,
      count = function(_, op) count('victim.' .. op.key, { k = op.key }, op.n) end,
      place = function(_, op) board.add(op.key, op.n) end,
      leave = function(_, op) board.leave(op.key) end,
      forget = function() forget() end,
      caught = function() pcall(error, 'caught') end,
    }
    rule 'run' {
      on = { 'go', 'inner' },
      run = function(event, state)
        for place, op in ipairs(event.data.ops) do
          if event.data.fails == place then return fail[event.data.how](state) end
          does[op.op](state, op)
        end
      end,
    }
    rule 'cycle' { on = 'cycle', run = function() raise('cycle') end }
    rule 'noted' { on = { 'noted', 'due' }, run = function(event, state)
      state.heard = state.heard or array {}
      state.heard[#state.heard + 1] = event.data.n
    end }
    """
  private static let witness =
    "rule 'all' { on = { 'go', 'inner', 'noted' }, run = function(e, s) s[e.type] = (s[e.type] or 0) + 1 count('witness.n') end }"
  private static let verbs = [
    "state", "list", "drop", "decide", "emit", "keyed", "raise", "send", "once", "timer", "cancel", "count", "place",
    "leave", "forget", "caught",
  ]

  private static func operations(_ random: inout SeededRandom) -> [JSONValue] {
    (0..<Int.random(in: 1...8, using: &random)).map { _ in
      let verb = verbs[Int.random(in: 0..<verbs.count, using: &random)]
      let key = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
      return ["op": .string(verb), "key": .string(key), "n": .integer(Int64.random(in: 1...90, using: &random))]
    }
  }

  /// All that a store holds but outcomes and parked parts, without the numbers that only count.
  private static func comparable(_ engine: Engine) throws -> [String] {
    try engine.local.contents().compactMap { key, value in
      switch StoreKey.Kind(rawValue: key.first ?? 0) {
      case .outcome, .parked: nil
      case .effect, .message: String(decoding: value, as: UTF8.self)
      default: String(decoding: key, as: UTF8.self) + " = " + String(decoding: value, as: UTF8.self)
      }
    }
  }

  @Test(arguments: 0..<30) func `failures at random points leave no trace`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let failing = try Engine(["victim": Self.plugin, "witness": Self.witness], start: LocalEngine.start)
    let spared = try Engine(["victim": Self.plugin, "witness": Self.witness], start: LocalEngine.start)
    var failures = 0
    for step in 0..<25 {
      let operations = Self.operations(&random)
      let id: JSONObject = ["id": .string("\(step)")]
      if Int.random(in: 0..<3, using: &random) == 0 {
        let kinds = ["error", "state", "value", "cycle", "error", "instructions", "memory"]
        let how = kinds[Int.random(in: 0..<(step < 2 ? kinds.count : 5), using: &random)]
        let place = Int64.random(in: 1...Int64(operations.count), using: &random)
        let outcome = try failing.send(
          "go", ["ops": .array(operations), "fails": .integer(place), "how": .string(how)], id)
        #expect(outcome.failureKinds == [how])
        #expect(outcome["decisions"]?["victim"] == nil)
        #expect(outcome["effects"]?.arrayValue?.allSatisfy { $0["plugin"] != "victim" } == true)
        try spared.send("go", ["ops": []], id)
        failures += 1
      } else {
        let one = try failing.send("go", ["ops": .array(operations)], id)
        let other = try spared.send("go", ["ops": .array(operations)], id)
        #expect(one.text == other.text, "step \(step)")
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        let time = Int64.random(in: 1...60, using: &random) * Limits.second
        try failing.local.advance(microseconds: time)
        try spared.local.advance(microseconds: time)
      }
    }
    let left = Set(try Self.comparable(failing)), right = Set(try Self.comparable(spared))
    #expect(left.symmetricDifference(right).isEmpty)
    #expect(try failing.parked().count == failures)
    #expect(
      failing.local.sent.map { String(decoding: $0, as: UTF8.self) }
        == spared.local.sent.map { String(decoding: $0, as: UTF8.self) })
    #expect(
      failing.local.context.counters.select(prefix: "").map(\.value)
        == spared.local.context.counters.select(prefix: "").map(\.value))
  }
}
