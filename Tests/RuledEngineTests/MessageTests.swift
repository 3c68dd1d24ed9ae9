import RuledCore
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

  @Test func messagesReachTheirSubjectInTheOrderSentExactlyOnce() throws {
    let engine = try Engine(["p": Self.relay])
    try engine.send("go", ["n": 5, "to": "user:2"], ["id": "1"])
    try engine.send("go", ["n": 5, "to": "user:2"], ["id": "1"])
    #expect(try engine.state("p", of: "user:2")?["got"] == [1, 2, 3, 4, 5])
    #expect(try engine.stored(.message).isEmpty)
    #expect(try engine.local.version(of: "user:2") == 5)
    #expect(engine.local.sent.count == 5)
  }

  @Test func sendingToOneselfIsAnEventOfItsOwnLater() throws {
    let engine = try Engine([
      "p": "rule 'go' { on = 'go', run = function(e, s) s.seen = { 'go' } send(e.subject, 'later') "
        + "s.seen[2] = 'go ends' end } rule 'later' { on = 'later', run = function(e, s) s.seen[3] = 'later' end }"
    ])
    let outcome = try engine.send("go")
    #expect(outcome["version"] == 1)
    #expect(try engine.state("p")?["seen"] == ["go", "go ends", "later"])
    #expect(try engine.local.version(of: "user:1") == 2)
  }

  @Test func whatWaitsInTheStoreIsDeliveredAtTheNextStart() throws {
    let store = MemoryStore()
    let writes = WriteSet()
    for sequence in 1...3 as ClosedRange<UInt64> {
      let key = StoreKey.bytes { StoreKey.message("user:2", sequence: sequence, into: $0) }
      let text =
        "{\"type\":\"got\",\"subject\":\"user:2\",\"id\":\"m\(sequence)\",\"data\":{\"n\":\(sequence)},\"hops\":1}"
      key.withUnsafeBytes { key in Array(text.utf8).withUnsafeBytes { writes.put(key, $0) } }
    }
    try store.commit(writes, durable: true)
    let engine = try Engine(["p": Self.relay], store: store)
    #expect(try engine.state("p", of: "user:2")?["got"] == [1, 2, 3])
    let again = try Engine(["p": Self.relay], store: store)
    #expect(try again.state("p", of: "user:2")?["got"] == [1, 2, 3])
  }

  @Test func moreThanThirtyTwoHopsAreACycle() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'hop', run = function(e, s) s.n = (s.n or 0) + 1 send('user:2', 'hop') end }"
    ])
    try engine.send("hop", [:], to: "user:2")
    let parked = try engine.stored(.parked)
    #expect(parked.map { $0["failure"]?["kind"] } == ["cycle"])
    #expect(try engine.state("p", of: "user:2")?["n"] == 32)
  }

  @Test func idsThatFollowFromAnEventAreTheSameWhateverElseIsCommitted() throws {
    let text = Self.relay + " rule 'id' { on = 'got', run = function(e, s) s.id = e.id end }"
    let alone = try Engine(["p": text])
    try alone.send("go", ["n": 1, "to": "user:2"], ["id": "7"])
    let busy = try Engine(["a": "rule 'r' { on = 'go', run = function() once('x') count('a.n') end }", "p": text])
    try busy.send("go", ["n": 1, "to": "user:2"], ["id": "7"])
    #expect(try alone.state("p", of: "user:2")?["id"] == (try busy.state("p", of: "user:2")?["id"]))
  }
}
