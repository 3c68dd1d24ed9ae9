import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import TestSupport
import Testing

/// What an event leaves to do once its rules have run: the same as if each operation were carried out at once, at a bounded cost.
@Suite struct OperationTests {
  private static let plugin = """
    local does = {
      once = function(op) return once(op.key) end,
      hour = function(op) return once(op.key, 3600) end,
      set = function(op) timer.set(op.key, now() + 1000 + op.n, 'due', { n = op.n }) return true end,
      cancel = function(op) timer.cancel(op.key) return true end,
      due = function(op) return timer.due(op.key) or false end,
      keyed = function(op) emit('mail', 'keyed', { n = op.n }, { key = op.key }) return true end,
      put = function(op, state) state[op.key] = op.n return true end,
      forget = function() forget() return true end,
    }
    rule 'go' {
      on = 'go',
      run = function(event, state)
        local seen = array {}
        for i, op in ipairs(event.data.ops) do seen[i] = does[op.op](op, state) end
        decide('seen', seen)
      end,
    }
    """

  /// What a subject holds of the plugin, kept in the plainest way.
  private struct Model {
    var once: Set<String> = []
    var timers: [String: Int64] = [:]
    var keys: Set<String> = []
    var state: [String: Int64] = [:]
    /// The effects that the event at hand records.
    var effects: [Int64] = []

    mutating func carryOut(_ verb: String, _ key: String, _ n: Int64) -> JSONValue {
      switch verb {
      case "once", "hour": return .bool(once.insert(key).inserted)
      case "set": timers[key] = n
      case "cancel": timers[key] = nil
      case "due": return timers[key].map { .number(OperationTests.start + 1000 + Double($0)) } ?? false
      case "keyed": if keys.insert(key).inserted { effects.append(n) }
      case "put": state[key] = n
      default: (once, timers, keys, state) = ([], [:], [], [:])
      }
      return true
    }
  }

  private static let start = Double(LocalEngine.start.microseconds) / 1e6
  private static let verbs = ["once", "hour", "set", "cancel", "due", "keyed", "put"]

  @Test(arguments: 0..<25) func `operations have the results of a naive model, few or many in one event`(seed: UInt64)
    throws
  {
    var random = SeededRandom(seed: seed)
    let engine = try Engine(["p": Self.plugin])
    var model = Model()
    for step in 0..<12 {
      let count = Int.random(in: 0..<3, using: &random) == 0 ? 400 : 20
      let names = Int.random(in: 2...60, using: &random)
      let forgets = [0, 3, 40][Int.random(in: 0..<3, using: &random)]
      var seen: [JSONValue] = []
      var operations: [JSONValue] = []
      model.effects = []
      for n in 0..<Int64(count) {
        let isForget = Int.random(in: 0..<count, using: &random) < forgets
        let verb = isForget ? "forget" : Self.verbs[Int.random(in: 0..<Self.verbs.count, using: &random)]
        let key = "k\(Int.random(in: 0..<names, using: &random))"
        operations.append(["op": .string(verb), "key": .string(key), "n": .integer(n)])
        seen.append(model.carryOut(verb, key, n))
      }
      let outcome = try engine.send("go", ["ops": .array(operations)])
      #expect(outcome["failures"] == [])
      #expect(outcome["decisions"]?["p"]?["seen"] == .array(seen), "step \(step)")
      #expect(outcome["effects"]?.arrayValue?.map { $0["data"]?["n"] } == model.effects.map { .integer($0) })
      try expectStored(model, in: engine)
    }
  }

  private func expectStored(_ model: Model, in engine: Engine) throws {
    var once: Set<String> = [], timers: [String: Int64] = [:], keys = 0
    for entry in try engine.local.contents() {
      try entry.key.withView { key in
        switch try? ParsedKey(key) {
        case .once(_, _, let key)? where key.first == 1: keys += 1
        case .once(_, _, let key)?: once.insert(String(decoding: key, as: UTF8.self))
        case .timer(_, _, let name)?:
          timers[String(decoding: name, as: UTF8.self)] =
            try JSONValue(parsing: String(decoding: entry.value, as: UTF8.self))["data"]?["n"]?.intValue
        default: break
        }
      }
    }
    #expect(once == model.once && timers == model.timers && keys == model.keys.count)
    #expect(try engine.stored(.timerIndex).count == timers.count)
    let state = try engine.state("p")?.objectValue ?? JSONObject()
    #expect(
      Dictionary(uniqueKeysWithValues: state.map { ($0.name, $0.value) }) == model.state.mapValues { .integer($0) })
  }

  // MARK: What it costs

  /// A rule may read twice, as an attempt that proves nothing is made again.
  @Test(arguments: [
    ("timer.set('t' .. i, now() + i, 'y')", 200, reads: 200, writes: 400),
    ("timer.set('t', now() + i, 'y')", 1, reads: 1, writes: 2),
    ("timer.set('t' .. i, now() + i, 'y') timer.cancel('t' .. i)", 0, reads: 200, writes: 0),
    ("once('k' .. i)", 200, reads: 400, writes: 200),
    ("once('k' .. i) if i == 200 then forget() end", 0, reads: 400, writes: 0),
    ("once('k') forget()", 0, reads: 1, writes: 0),
    ("forget()", 0, reads: 0, writes: 0),
    ("emit('mail', 'm', {}, { key = 'k' })", 1, reads: 2, writes: 2),
  ])
  func `an event's operations are collapsed before they are carried out`(
    operation: String, left: Int, reads: Int, writes: Int
  ) throws {
    let store = CountingStore()
    let engine = try Engine(
      ["p": "rule 'r' { on = 'x', run = function() for i = 1, 200 do \(operation) end end }"], store: store)
    #expect(try engine.send("x")["failures"] == [])
    #expect(try engine.stored(.timer).count + engine.stored(.once).count == left)
    #expect(store.reads.load(ordering: .relaxed) <= reads + 2)
    #expect(store.writes.load(ordering: .relaxed) <= writes + 2)
  }

  /// A debug build may run out of time before it runs out of operations.
  @Test(arguments: [
    "timer.set('t' .. i, 1, 'y')", "forget()", "once('k' .. i)", "send('user:2', 'y')", "log.info('x')",
    "count('p.n')", "decide('k', i)",
  ])
  func `more operations than an event may have are a failure, and the next event is handled`(operation: String) throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function(e, s) s.n = 1 for i = 1, e.data.n do \(operation) end end }"
    ])
    let outcome = try engine.send("x", ["n": 200_000])
    if outcome.failureKinds != ["time"] {
      #expect(outcome.failureKinds == ["value"] && outcome["failures"]?[0]?["rule"] == "r")
      let message = outcome["failures"]?[0]?["message"]?.stringValue ?? ""
      #expect(message.hasPrefix("more than 10000 operations in one event"))
    }
    #expect(try engine.parked().count == 1)
    #expect(try engine.state("p") == nil)
    #expect(try engine.send("x", ["n": 3])["failures"] == [])
  }

  @Test func `raised events share the limit of their plugin`() throws {
    let engine = try Engine([
      "p": """
      rule 'r' { on = 'x', run = function() for i = 1, 20 do raise('y') end end }
      rule 'y' { on = 'y', run = function() for i = 1, 600 do count('p.n') end end }
      """
    ])
    #expect(try engine.send("x").failureKinds == ["value"])
  }

  @Test func `thousands of messages to one subject are applied, each once`() throws {
    let engine = try Engine([
      "p": """
      rule 'r' { on = 'x', run = function() for i = 1, 1000 do send('user:2', 'y') end end }
      rule 'y' { on = 'y', run = function(e, s) s.n = (s.n or 0) + 1 end }
      """
    ])
    for _ in 0..<9 { try engine.send("x") }
    #expect(try engine.state("p", of: "user:2")?["n"] == 9_000)
    #expect(try engine.stored(.message).isEmpty)
  }
}
