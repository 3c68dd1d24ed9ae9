import RuledCore
import RuledStore
import StoreTestSupport
import Testing

@Suite struct StoreFailureTests {
  private static let asking = """
    rule 'hot' { on = 'hot', run = function(e, s) s.hot = true end }
    rule 'once' { on = 'once', run = function(e, s) if once('k') then s.n = (s.n or 0) + 1 end end }
    rule 'due' { on = 'due', run = function(e, s) s.due = timer.due('t') == nil end }
    """

  @Test(arguments: ["once", "due"]) func `an event fails whole when the store cannot be read`(type: String) throws {
    let store = FaultyStore(MemoryStore())
    let engine = try Engine(["p": Self.asking], store: store)
    try engine.send("hot")
    try engine.send("once")
    let before = try engine.state("p")
    store.failReads(true)
    let error = #expect(throws: RequestError.self) { try engine.send(type, [:], ["id": "1"]) }
    #expect(error?.code == .unavailable)
    store.failReads(false)
    #expect(try engine.state("p") == before)
    #expect(try engine.parked().isEmpty)
    #expect(try engine.send(type, [:], ["id": "1"])["duplicate"] == false)
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test func `a forget fails alone when the store cannot be read, and others commit on`() throws {
    let store = FaultyStore(MemoryStore())
    let engine = try Engine(
      [
        "p": """
        rule 'keep' { on = 'keep', run = function(e, s) s.n = 1 once('k') timer.set('t', now() + 10, 'due') end }
        rule 'forget' { on = 'forget', run = function() forget() end }
        """
      ], store: store)
    try engine.send("keep")
    let kept = try engine.local.contents().map(\.key)
    let name = ByteBuffer(capacity: 8)
    name.append(contentsOf: "user:1")
    store.failScans(true)
    let byRule = #expect(throws: RequestError.self) { try engine.local.event(Self.forgetting) }
    #expect(byRule?.code == .unavailable)
    let byRequest = #expect(throws: RequestError.self) { try engine.local.evaluator.forget(name.bytes) }
    #expect(byRequest?.code == .unavailable)
    #expect(engine.local.evaluator.batch.isEmpty)
    store.failScans(false)
    #expect(try engine.local.contents().map(\.key) == kept)
    try engine.send("keep", to: "user:2")
    #expect(try engine.local.event(Self.forgetting)["duplicate"] == false)
    #expect(try engine.state("p") == nil)
    _ = try engine.local.evaluator.forget(name.bytes)
    try engine.local.runUntilIdle()
    let left = try engine.local.contents().filter { !$0.key.contains(UInt8(ascii: "2")) }
    #expect(left.isEmpty)
  }

  private static let forgetting: JSONValue = ["type": "forget", "subject": "user:1", "id": "1"]
}
