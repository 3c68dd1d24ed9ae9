import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import Testing

@Suite struct MessageTests {
  private static let relay = """
    rule 'send' { on = 'go', run = function(e)
      for n = 1, e.data.n do send(e.data.to, 'got', { n = n }) end
    end }
    rule 'got' { on = 'got', run = function(e, s)
      s.got = s.got or array {}
      s.got[#s.got + 1] = e.data.n
    end }
    """

  @Test func `messages reach their subject in the order sent, exactly once`() throws {
    let engine = try Engine(["p": Self.relay])
    try engine.send("go", ["n": 5, "to": "user:2"], ["id": "1"])
    try engine.send("go", ["n": 5, "to": "user:2"], ["id": "1"])
    #expect(try engine.state("p", of: "user:2")?["got"] == [1, 2, 3, 4, 5])
    #expect(try engine.stored(.message).isEmpty)
    #expect(try engine.local.version(of: "user:2") == 5)
    #expect(engine.local.sent.count == 5)
  }

  @Test func `sending to oneself is an event of its own later`() throws {
    let engine = try Engine([
      "p": "rule 'go' { on = 'go', run = function(e, s) s.seen = { 'go' } send(e.subject, 'later') "
        + "s.seen[2] = 'go ends' end } rule 'later' { on = 'later', run = function(e, s) s.seen[3] = 'later' end }"
    ])
    let outcome = try engine.send("go")
    #expect(outcome["version"] == 1)
    #expect(try engine.state("p")?["seen"] == ["go", "go ends", "later"])
    #expect(try engine.local.version(of: "user:1") == 2)
  }

  @Test func `messages that wait in the store are delivered at the next start`() throws {
    let store = MemoryStore()
    let writes = WriteSet()
    for sequence in 1...3 as ClosedRange<UInt64> {
      let key = StoreKey.bytes { StoreKey.numbered(.message, "user:2", sequence, into: $0) }
      let text =
        "{\"type\":\"got\",\"subject\":\"user:2\",\"id\":\"m\(sequence)\",\"data\":{\"n\":\(sequence)},\"hops\":1}"
      key.withView { key in Array(text.utf8).withView { writes.put(key, $0) } }
    }
    try store.commit(writes, durable: true)
    let engine = try Engine(["p": Self.relay], store: store)
    #expect(try engine.state("p", of: "user:2")?["got"] == [1, 2, 3])
    let again = try Engine(["p": Self.relay], store: store)
    #expect(try again.state("p", of: "user:2")?["got"] == [1, 2, 3])
  }

  @Test func `more than 32 hops are a cycle`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'hop', run = function(e, s) s.n = (s.n or 0) + 1 send('user:2', 'hop') end }"
    ])
    try engine.send("hop", [:], to: "user:2")
    let parked = try engine.stored(.parked)
    #expect(parked.map { $0["failure"]?["kind"] } == ["cycle"])
    #expect(try engine.state("p", of: "user:2")?["n"] == 32)
  }

  @Test func `ids that follow from an event are the same whatever else is committed`() throws {
    let text = Self.relay + " rule 'id' { on = 'got', run = function(e, s) s.id = e.id end }"
    let alone = try Engine(["p": text])
    try alone.send("go", ["n": 1, "to": "user:2"], ["id": "7"])
    let busy = try Engine(["a": "rule 'r' { on = 'go', run = function() once('x') count('a.n') end }", "p": text])
    try busy.send("go", ["n": 1, "to": "user:2"], ["id": "7"])
    #expect(try alone.state("p", of: "user:2")?["id"] == (try busy.state("p", of: "user:2")?["id"]))
  }

  // MARK: Limits

  private static let fan = """
    rule 'fan' { on = 'fan', run = function(e, s)
      s.n = (s.n or 0) + 1
      for i = 1, e.data.n do send('user:' .. (i % 7), 'fan', { n = e.data.n }) end
    end }
    """

  @Test func `a plugin may send a thousand messages for one event`() throws {
    let text = "rule 'go' { on = 'go', run = function(e) for i = 1, e.data.n do send('user:2', 'got') end end }"
    let engine = try Engine(["p": text])
    #expect(try engine.send("go", ["n": 1000]).failureKinds == [])
    #expect(engine.local.sent.count == 1000)
    let outcome = try engine.send("go", ["n": 1001])
    #expect(outcome.failureKinds == ["value"])
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("a plugin may send 1000") == true)
    #expect(engine.local.sent.count == 1000)
  }

  @Test(arguments: [50, 900])
  func `the allowance of an event is divided among its messages, and a cascade beyond it is parked as a cycle`(
    _ n: Int64
  ) throws {
    let engine = try Engine(["p": Self.fan])
    try engine.send("fan", ["n": .integer(n)])
    #expect(engine.local.sent.count >= Int(n))
    #expect(engine.local.sent.count <= Limits.messagesPerCascade)
    let parked = try engine.stored(.parked)
    #expect(!parked.isEmpty && parked.allSatisfy { $0["failure"]?["kind"] == "cycle" })
    #expect(engine.local.context.senders.summary.storming == ["p"])
    #expect(try engine.stored(.message).isEmpty)
  }

  @Test func `messages of several plugins share the allowance of one event`() throws {
    let text = "rule 'go' { on = 'go', run = function(e) for i = 1, 400 do send('user:2', e.data.type) end end }"
    let engine = try Engine(["a": text, "b": text])
    try engine.send("go", ["type": "got"])
    let shares = engine.local.sent.compactMap {
      (try? JSONValue(parsing: String(decoding: $0, as: UTF8.self)))?["may_send"]?.intValue
    }
    #expect(shares == Array(repeating: Int64((Limits.messagesPerCascade - 800) / 800), count: 800))
  }

  // MARK: Parking

  @Test(arguments: [false, true])
  func `messages of a plugin that is gone are parked in order, those of others and of older versions are applied`(
    isDropped: Bool
  ) throws {
    let store = MemoryStore()
    let writes = WriteSet()
    for (sequence, sender) in [(1, "gone"), (2, "p"), (3, "gone"), (4, "")] as [(UInt64, String)] {
      let key = StoreKey.bytes { StoreKey.numbered(.message, "user:2", sequence, into: $0) }
      let by = sender.isEmpty ? "" : ",\"sent_by\":\"\(sender)\",\"may_send\":7"
      let text =
        "{\"type\":\"got\",\"subject\":\"user:2\",\"id\":\"m\",\"data\":{\"n\":\(sequence)},\"hops\":3,\"from\":\"user:1\"\(by)}"
      key.withView { key in Array(text.utf8).withView { writes.put(key, $0) } }
    }
    try store.commit(writes, durable: true)
    let engine = try Engine(["p": Self.relay], store: store)
    #expect(try engine.state("p", of: "user:2")?["got"] == [2, 4])
    let parked = try engine.parked()
    #expect(parked.map(\.sequence) == [1, 3])
    let entry = try engine.stored(.parked)[0]
    #expect(entry["plugin"] == "gone" && entry["events"]?[0]?["data"] == ["n": 1], "\(entry.text)")
    #expect(entry["hops"] == 3 && entry["may_send"] == 7 && entry["events"]?[0]?["hops"] == nil)
    guard case .failed? = try engine.retry(parked[0]) else { return #expect(Bool(false), "retried without its plugin") }
    if isDropped {
      for key in parked { #expect(try engine.local.evaluator.drop(key)) }
      try engine.local.runUntilIdle()
      #expect(try engine.state("p", of: "user:2")?["got"] == [2, 4])
      return #expect(try engine.parked().isEmpty)
    }
    try engine.adopt(["gone": "", "p": Self.relay])
    for key in parked { #expect(try engine.retry(key) != nil) }
    #expect(try engine.state("p", of: "user:2")?["got"] == [2, 4, 1, 3])
    #expect(try engine.parked().isEmpty && engine.stored(.message).isEmpty)
  }

  @Test func `messages of a suspended plugin are parked, and a retry applies one although it stays suspended`() throws {
    let engine = try Engine([
      "a": "rule 'spin' { on = 'spin', run = function() while true do end end }", "p": Self.relay,
    ])
    engine.local.evaluator.catalog.plugins[0].runtime.suspend()
    let store = WriteSet()
    let key = StoreKey.bytes { StoreKey.numbered(.message, "user:2", .max / 2, into: $0) }
    let text =
      "{\"type\":\"got\",\"subject\":\"user:2\",\"id\":\"m\",\"data\":{\"n\":2},\"hops\":1,\"from\":\"x\",\"may_send\":7,\"sent_by\":\"a\"}"
    key.withView { key in Array(text.utf8).withView { store.put(key, $0) } }
    try engine.store.commit(store, durable: true)
    let message = CommitBatch.Message(subject: Array("user:2".utf8), sequence: .max / 2)
    #expect(try engine.local.evaluator.deliver(message, butOf: ["a"]) == .deferred)
    #expect(try engine.local.evaluator.deliver(message, butOf: ["b"]) == .applied)
    try engine.local.runUntilIdle()
    #expect(try engine.state("p", of: "user:2") == nil)
    let parked = try #require(try engine.parked().first { $0.sequence == .max / 2 })
    #expect(try engine.retry(parked) != nil)
    #expect(try engine.state("p", of: "user:2")?["got"] == [2])
  }
}
