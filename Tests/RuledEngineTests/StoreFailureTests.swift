import RuledCore
import RuledStore
import Testing

@Suite struct StoreFailureTests {
  private static let asking = """
    rule 'hot' { on = 'hot', run = function(e, s) s.hot = true end }
    rule 'once' { on = 'once', run = function(e, s) if once('k') then s.n = (s.n or 0) + 1 end end }
    rule 'due' { on = 'due', run = function(e, s) s.due = timer.due('t') == nil end }
    """

  @Test(arguments: ["once", "due"]) func anEventFailsWholeWhenTheStoreCannotBeRead(type: String) throws {
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
}
