import RuledCore
import RuledJSON
import RuledLua
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledEngine

/// Counters: whose they are, how many there may be, and that only committed counts are told.
@Suite struct CounterTests {
  private static let counting = """
    rule 'n' { on = 'n', run = function(e)
      for i = e.data.from, e.data.to do count((e.data.name or 'p.n'), { i = i }) end
      if e.data.fails then error('no') end
    end }
    query 'n' (function(state, args) return { sum = #counters('') } end)
    query 'first' (function(state, args) local all = counters('') return { value = all[1] and all[1].value or 0 } end)
    """

  private static func bounded(_ limit: Int) -> Configuration {
    var configuration = Configuration()
    configuration.limits.counters = limit
    return configuration
  }

  private func series(_ engine: Engine) -> Int { engine.local.context.counters.usage(limit: 1).series }

  private func texts(_ engine: Engine) -> [String] {
    engine.local.context.counters.select(prefix: "p.").map { "\($0.key.name)\($0.key.labels)=\($0.value.json.text)" }
  }

  @Test func `a plugin that has all its counters counts further labels as other, and another is not held up`() throws {
    let engine = try Engine(["o": Self.other, "p": Self.counting], configuration: Self.bounded(5))
    try engine.send("n", ["from": 1, "to": 5])
    #expect(try engine.send("n", ["from": 4, "to": 8])["failures"] == [])
    #expect(try engine.parked().isEmpty && engine.local.context.counters.usage(limit: 5).full == ["p"])
    #expect(
      texts(engine) == [
        #"p.n{"i":"1"}=1"#, #"p.n{"i":"2"}=1"#, #"p.n{"i":"3"}=1"#, #"p.n{"i":"4"}=2"#, #"p.n{"i":"5"}=2"#,
        #"p.n{"other":"true"}=3"#,
      ])
    #expect(try engine.send("o", ["from": 1, "to": 5])["failures"] == [])
    #expect(engine.local.context.counters.usage(limit: 5).full == ["o", "p"])
    for name in 1...7 { try engine.send("n", ["from": 1, "to": 1, "name": .string("p.name\(name)")]) }
    #expect(
      texts(engine).suffix(4) == [
        #"p.name2{"other":"true"}=1"#, #"p.name3{"other":"true"}=1"#, #"p.name4{"other":"true"}=1"#,
        #"p.other{"other":"true"}=3"#,
      ])
  }

  @Test func `a prefix finds the counters whose names begin with it, in the order of their bytes`() throws {
    let engine = try Engine(["p": Self.counting])
    let names = ["p.b", "p.a", "p.é", "p.ab", "p"]
    for name in names { try engine.send("n", ["from": 1, "to": 300, "name": .string(name)]) }
    let counters = engine.local.context.counters
    let all = counters.select(prefix: "").map { $0.key.name + "\0" + $0.key.labels }
    #expect(all.count == names.count * 300)
    #expect(all == all.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
    for (prefix, found) in ["p.": 4, "p.a": 2, "p.ab": 1, "p.abc": 0, "p.b": 1, "p.c": 0, "p.é": 1, "q": 0] {
      let chosen = counters.select(prefix: prefix)
      #expect(chosen.count == found * 300 && chosen.allSatisfy { $0.key.name.hasPrefix(prefix) }, "\(prefix)")
    }
  }

  @Test func `a query reads counters only where there are at most so many`() throws {
    let most = "query 'most' (function(_, args) local all = counters('p.', args.most) return { n = all and #all } end)"
    let engine = try Engine(["p": Self.counting + most])
    for name in ["p.a", "p.b"] { try engine.send("n", ["from": 1, "to": 5, "name": .string(name)]) }
    func found(_ most: JSONValue) throws -> JSONValue? {
      try engine.local.query("p.most", subject: nil, arguments: ["most": most])["n"]
    }
    #expect(try found(10) == 10 && found(.null) == 10)
    #expect(try found(9) == nil && found(5) == nil && found(0) == nil)
    for wrong in [-1, 1.5, "a"] as [JSONValue] {
      let failure = #expect(throws: RequestError.self) { try found(wrong) }
      #expect(failure?.message.contains("counters' most must be a") == true, "\(wrong)")
    }
  }

  @Test func `counters are given up when the time of the query is over`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("n", ["from": 1, "to": 5])
    let counters = engine.local.context.counters
    #expect(counters.select(prefix: "p.").count == 5)
    #expect(counters.select(prefix: "p.", until: { true }).isEmpty)
  }

  private static let other =
    "rule 'o' { on = 'o', run = function(e) for i = e.data.from, e.data.to do count('p.n', { o = i }) end end }"

  @Test func `counters belong to the plugin that counted them first, also after a restart`() throws {
    let plugins: KeyValuePairs = ["o": Self.other, "p": Self.counting]
    let first = try Engine(plugins, configuration: Self.bounded(5))
    try first.send("o", ["from": 1, "to": 5])
    try first.send("n", ["from": 1, "to": 2])
    let second = try Engine(plugins, store: first.store, configuration: Self.bounded(5))
    #expect(second.local.context.counters.counts == ["o": 5, "p": 2])
    try second.send("o", ["from": 6, "to": 6])
    try second.send("n", ["from": 3, "to": 5])
    #expect(second.local.context.counters.counts == ["o": 5, "p": 5])
    #expect(texts(second).contains(#"p.n{"other":"true"}=1"#))
  }

  @Test func `counters of failed, dry or uncommitted events take no room`() throws {
    let store = FaultyStore(MemoryStore())
    let engine = try Engine(["p": Self.counting], store: store, configuration: Self.bounded(5))
    #expect(try engine.send("n", ["from": 1, "to": 5, "fails": true]).failureKinds == ["error"])
    #expect(try engine.send("n", ["from": 1, "to": 9], ["dryrun": true])["failures"] == [])
    store.failCommit(1)
    #expect(throws: RequestError.self) { try engine.send("n", ["from": 1, "to": 5]) }
    #expect(series(engine) == 0)
    try store.reopen()
    #expect(try engine.send("n", ["from": 11, "to": 15])["failures"] == [])
    #expect(series(engine) == 5)
    let parked = try #require(try engine.parked().first)
    _ = try engine.retry(parked)
    #expect(series(engine) == 5)
  }

  @Test func `long labels are refused`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function(e) count('p.n', { a = ('x'):rep(e.data.n) }) end }"
    ])
    #expect(try engine.send("x", ["n": 500])["failures"] == [])
    #expect(try engine.send("x", ["n": 510]).failureKinds == ["value"])
  }

  // MARK: Sums

  private static let summing =
    "rule 'n' { on = 'n', run = function(e, s) s.n = (s.n or 0) + 1 count('p.n', {}, e.data.n) end }"

  private func sum(_ engine: Engine) -> CounterValue? {
    engine.local.context.counters.select(prefix: "p.n").first?.value
  }

  @Test(arguments: [
    (JSONValue.number(1e308), CounterValue.number(1e308)), (.number(-1e308), .number(-1e308)),
    (.integer(.max), .integer(.max)), (.integer(.min), .integer(.min)),
  ])
  func `an amount with which the value would overflow is a failure of its rule, and nothing of the event is kept`(
    amount: JSONValue, value: CounterValue
  ) throws {
    let engine = try Engine(["p": Self.summing])
    #expect(try engine.send("n", ["n": amount])["failures"] == [])
    let refused = try engine.send("n", ["n": amount])
    #expect(refused.failureKinds == ["value"] && refused["failures"]?[0]?["rule"] == "n")
    #expect(refused["failures"]?[0]?["message"]?.stringValue?.contains("overflow") == true)
    #expect(try engine.state("p")?["n"] == 1 && engine.parked().count == 1 && sum(engine) == value)
    let other = try Engine(["p": Self.summing], store: engine.store)
    #expect(sum(other) == value && other.local.context.damage.isEmpty)
    #expect(try other.send("n", ["n": value.isNegative ? 1 : -1])["failures"] == [])
  }

  @Test func `amounts that are not yet committed count for a possible overflow, in either direction`() throws {
    let engine = try Engine(["p": Self.summing])
    let worker = LuaWorker()
    let evaluator = another(engine, worker)
    func failures(_ amounts: Double...) throws -> [Int] {
      try amounts.enumerated().map { index, amount in
        let reply = ByteBuffer(capacity: 256)
        let text = #"{"type":"n","subject":"user:\#(index)","id":"\#(amount)-\#(index)","data":{"n":\#(amount)}}"#
        try evaluate(evaluator, text: text, into: reply)
        return try JSONValue(parsing: reply.bytes)["failures"]?.arrayValue?.count ?? -1
      }
    }
    #expect(try failures(1e308, -1e308, -0.5e308, 1e308, 0.7e308, -1e308, 1) == [0, 0, 0, 1, 0, 1, 0])
    let first = evaluator.takeBatch()
    engine.local.context.counters.addDurable(first)
    evaluator.noteDurable(first)
    let value = try #require(sum(engine)?.double)
    #expect(abs(value - 0.2e308) < 1e294)
    #expect(try failures(1.5e308, 1e308) == [0, 1])
    evaluator.discardAll(from: evaluator.takeBatch())
    #expect(try failures(1.4e308, 1e307) == [0, 0])
  }

  @Test func `a counter whose sum an older build lost begins at 0 again`() throws {
    let first = try Engine(["p": Self.summing])
    try first.send("n", ["n": 5])
    try store([("{}", "null")], of: "p.n", in: first.store)
    let second = try Engine(["p": Self.summing], store: first.store)
    #expect(second.local.context.damage.isEmpty && sum(second) == .integer(0))
    try second.send("n", ["n": 5])
    #expect(sum(try Engine(["p": Self.summing], store: second.store)) == .integer(5))
  }

  private func store(_ values: [(labels: String, value: String)], of name: String, in store: any StateStore) throws {
    let writes = WriteSet()
    for (labels, value) in values {
      StoreKey.bytes { StoreKey.counter(name, labels: labels, into: $0) }.withView { key in
        Array(value.utf8).withView { writes.put(key, $0) }
      }
    }
    try store.commit(writes, durable: true)
  }

  // MARK: Labels

  private static let labelled = """
    rule 'c' { on = 'c', run = function(e, s)
      local all = {
        { a = 1 }, { a = "1" }, { a = true }, { a = "true" }, { ["a-b"] = "x" }, { a_b = "x" }, { a = "" }, {}, { le = "x" },
        { label_le = "x" }, { "x" }, { ["1"] = "x" }, { a = 1.0 }, { a = json.null }, array { "x" }, settings.labels,
        { ["é"] = "x" }, { _ = "x" },
      }
      for _, labels in ipairs(all) do count("p.c", labels) end
      count("p.c")
      count("p.c", nil)
    end }
    rule 'two' { on = 'two', run = function(e)
      count("p.two", e.data.same and { ["a-b"] = 1, a_b = "1" } or { ["a-b"] = 1, a_b = 2 })
    end }
    rule 'bad' { on = 'bad', run = function(e) count("p.bad", { a = "\\xff" }) end }
    """

  private func labels(_ engine: Engine, _ name: String = "p.c") -> [String: CounterValue] {
    let found = engine.local.context.counters.select(prefix: name)
    return Dictionary(uniqueKeysWithValues: found.map { ($0.key.labels, $0.value) })
  }

  @Test func `labels that give one Prometheus series are one counter, and a label without a value is none`() throws {
    let engine = try Engine(["p": Self.labelled], manifest: "settings = { labels = { a = 'true' } }")
    #expect(try engine.send("c")["failures"] == [])
    #expect(
      labels(engine) == [
        #"{"a":"1"}"#: .integer(2), #"{"a":"true"}"#: .integer(3), #"{"a_b":"x"}"#: .integer(2), "{}": .integer(5),
        #"{"label_le":"x"}"#: .integer(2), #"{"label_1":"x"}"#: .integer(3), #"{"a":"1.0"}"#: .integer(1),
        #"{"_":"x"}"#: .integer(2),
      ])
    #expect(try engine.send("two").failureKinds == ["value"])
    #expect(try engine.send("two", ["same": true])["failures"] == [])
    #expect(labels(engine, "p.two") == [#"{"a_b":"1"}"#: .integer(1)])
    #expect(try engine.send("bad").failureKinds == ["value"])
  }

  @Test func `counts that an older build kept apart are added up, once`() throws {
    let odd = #""\u001fé\"\\\/""#
    let stored = [
      (#"{"a":1}"#, "2"), (#"{"a":"1"}"#, "3"), (#"{"a":true}"#, "5"), (#"{"a":""}"#, "7"), ("{}", "11"),
      (#"{"a-b":\#(odd)}"#, "13"), (#"["x"]"#, "17"),
    ]
    let memory = MemoryStore()
    try store(stored, of: "p.c", in: memory)
    let owner = WriteSet()
    StoreKey.bytes { StoreKey.counterOwner("p.c", labels: #"{"a":true}"#, into: $0) }.withView { key in
      Array("owner".utf8).withView { owner.put(key, $0) }
    }
    try memory.commit(owner, durable: true)
    let counting =
      #"rule 'c' { on = 'c', run = function() count('p.c', { a = 1 }) count('p.c', { ['a-b'] = '\31é"\\/' }) end }"#
    for round in Int64(0)..<3 {
      let engine = try Engine(["p": counting], store: memory)
      func expect(_ counted: Int64) {
        let found = labels(engine)
        #expect(found.count == 5 && found[#"{"a":"1"}"#] == .integer(5 + counted), "round \(round)")
        #expect(found[#"{"a":"true"}"#] == .integer(5) && found["{}"] == .integer(18), "round \(round)")
        #expect(found[#"{"label_1":"x"}"#] == .integer(17), "round \(round)")
        #expect(found.values.contains(.integer(13 + counted)), "round \(round)")
      }
      expect(round)
      #expect(engine.local.context.counters.counts == ["owner": 1, "p": 4])
      try engine.send("c")
      expect(round + 1)
    }
    #expect(try Engine(["p": counting], store: memory).stored(.counter).count == 6)
  }

  // MARK: What is told

  /// An evaluator beside the engine's own, as another worker has one.
  private func another(_ engine: Engine, _ worker: LuaWorker) -> Evaluator {
    Evaluator(
      context: engine.local.context, catalog: engine.local.evaluator.catalog, lua: worker, cacheBytes: 1 << 20)
  }

  private func asked(_ evaluator: Evaluator) throws -> Int64? {
    let reply = ByteBuffer(capacity: 64)
    try evaluator.query("p.first", subject: nil, arguments: nil, into: reply)
    return try JSONValue(parsing: reply.bytes)["value"]?.intValue
  }

  private func evaluate(_ evaluator: Evaluator, _ id: String) throws {
    let text = #"{"type":"n","subject":"user:1","source":"s","id":"\#(id)","data":{"from":1,"to":1}}"#
    try evaluate(evaluator, text: text, into: ByteBuffer(capacity: 256))
  }

  private func evaluate(_ evaluator: Evaluator, text: String, into reply: ByteBuffer) throws {
    let document = TapeDocument()
    let bytes = ByteBuffer(capacity: 128)
    bytes.append(contentsOf: text)
    let object = try document.parse(copyOf: bytes.bytes)
    let event = EventInput(stored: object, text: document.text, now: 0, origin: .client)
    try evaluator.evaluate(event, into: reply)
    withExtendedLifetime(bytes) {}
  }

  @Test(arguments: ["counters('')", "board.top('b', 1)", "topic.count('t')"])
  func `only a query reads what all subjects share`(call: String) throws {
    let engine = try Engine([
      "p": """
      query 'q' (function() return { \(call) } end)
      web 'w.example' (function() return { body = tostring(\(call)) } end)
      """
    ])
    _ = try engine.local.query("p.q", subject: nil, arguments: nil)
    let request = ByteBuffer(capacity: 8)
    request.append(contentsOf: "{}")
    let failure = #expect(throws: Failure.self) {
      try engine.local.evaluator.web(host: "w.example", request: request.bytes)
    }
    #expect(failure?.message.contains("can be read only by a query") == true)
  }

  @Test func `uncommitted counts are seen only where the answer waits for their commit`() throws {
    let engine = try Engine(["p": Self.counting])
    let table = engine.local.context.counters
    let workers = (LuaWorker(), LuaWorker())
    let own = another(engine, workers.0), other = another(engine, workers.1)
    try evaluate(own, "1")
    #expect(try asked(own) == 1 && asked(other) == 0)
    let first = own.takeBatch()
    try evaluate(own, "2")
    #expect(try asked(own) == 2 && asked(other) == 0)
    table.addDurable(first)
    #expect(try asked(own) == 2 && asked(other) == 1)
    own.noteDurable(first)
    #expect(try asked(own) == 2 && asked(other) == 1)
    let second = own.takeBatch()
    try evaluate(own, "3")
    #expect(try asked(own) == 3)
    own.discardAll(from: second)
    #expect(try asked(own) == 1 && asked(other) == 1)
  }

  // MARK: Adding up

  @Test func `deltas that are added up come to the same, and reserve the same`() {
    var generator = SeededRandom(seed: 18)
    for _ in 0..<300 {
      let series = Int.random(in: 1...60, using: &generator)
      let deltas = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
        var delta = delta("p.\(Int.random(in: 1...series, using: &generator))", amount(&generator))
        delta.isFirst = Bool.random(using: &generator)
        return delta
      }
      var added = deltas
      added.addUp()
      #expect(sums(added) == sums(deltas))
      #expect(added.reduce(0) { $0 + $1.amounts } == deltas.count)
      #expect(Set(added.filter(\.isFirst).map(\.key)) == Set(deltas.filter(\.isFirst).map(\.key)))
      if series <= 32, deltas.allSatisfy({ $0.amount == .integer(1) }) { #expect(added.count <= series) }
    }
  }

  private func amount(_ generator: inout SeededRandom) -> CounterValue {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0: .number(0.5)
    case 1: .integer(1 << 40)
    case 2: .integer(-3)
    default: .integer(1)
    }
  }

  private func delta(_ name: String, _ amount: CounterValue) -> CounterDelta {
    Array(name.utf8).withView { name in
      Array("{}".utf8).withView { CounterDelta(CounterKey(name: name, labels: $0), amount) }
    }
  }

  private func sums(_ deltas: [CounterDelta]) -> [CounterKey: CounterValue] {
    deltas.reduce(into: [:]) { $0[$1.key] = ($0[$1.key] ?? .integer(0)) + $1.amount }
  }

  @Test func `a batch of many events that count the same has room for each until it is committed or discarded`() throws
  {
    let engine = try Engine(["p": Self.counting])
    let table = engine.local.context.counters
    let worker = LuaWorker()
    let evaluator = another(engine, worker)
    for id in 1...4 { try evaluate(evaluator, "\(id)") }
    #expect(table.usage(limit: 1).series == 1)
    evaluator.discardAll(from: evaluator.takeBatch())
    #expect(table.usage(limit: 1).series == 0)
    for id in 5...9 { try evaluate(evaluator, "\(id)") }
    let batch = evaluator.takeBatch()
    #expect(batch.counters.map(\.amount) == [.integer(5)])
    table.addDurable(batch)
    evaluator.noteDurable(batch)
    #expect(table.select(prefix: "").map(\.value) == [.integer(5)])
  }
}
