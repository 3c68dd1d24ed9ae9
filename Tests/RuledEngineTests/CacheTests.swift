import RuledCore
import RuledEngine
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@Suite struct CacheTests {
  private static let text = """
    rule 'r' { on = 'x', run = function(e, s)
      s.n = (s.n or 0) + 1
      s.float = (s.float or 0) + 0.5
      s.text = (s.text or '') .. e.data.word
      s.empty = {}
      s.list = array {}
      s.null = json.null
      s.whole = 1.0
      decide('n', s.n)
    end }
    """

  @Test func `an evicted subject comes back identical`() throws {
    var small = Configuration()
    small.limits.cacheMiB = 0
    let cached = try Engine(["p": Self.text])
    let evicting = try Engine(["p": Self.text], configuration: small)
    var random = SeededRandom(seed: 3)
    for step in 0..<300 {
      let subject = "user:\(Int.random(in: 0..<20, using: &random))"
      let more: JSONObject = ["id": .string("\(step / 2)")]
      let one = try cached.send("x", ["word": "w\u{e9}\(step)"], to: subject, more)
      let other = try evicting.send("x", ["word": "w\u{e9}\(step)"], to: subject, more)
      #expect(one == other)
    }
    #expect(evicting.local.evaluator.cache.subjects <= 1)
    #expect(cached.local.evaluator.cache.subjects == 20)
    let left = try cached.local.contents(), right = try evicting.local.contents()
    #expect(left.map(\.key) == right.map(\.key) && left.map(\.value) == right.map(\.value))
  }

  @Test func `values keep their kind in state and after a restart`() throws {
    let engine = try Engine(["p": Self.text])
    try engine.send("x", ["word": "a"])
    let again = try Engine(["p": Self.text], store: engine.store)
    try again.send("x", ["word": "b"])
    #expect(
      try again.state("p") == [
        "n": 2, "float": 1.0, "text": "ab", "empty": [:], "list": [], "null": nil, "whole": 1.0,
      ])
  }

  @Test func `a store that fails applies nothing and the event can be sent again`() throws {
    let store = FaultyStore(MemoryStore())
    let engine = try Engine(["p": Self.text], store: store)
    try engine.send("x", ["word": "a"], ["id": "1"])
    store.failCommit(1)
    #expect(throws: RequestError.self) { try engine.send("x", ["word": "b"], ["id": "2"]) }
    try store.reopen()
    #expect(try engine.state("p")?["n"] == 1)
    #expect(try engine.send("x", ["word": "b"], ["id": "2"])["decisions"]?["p"]?["n"] == 2)
  }
}
