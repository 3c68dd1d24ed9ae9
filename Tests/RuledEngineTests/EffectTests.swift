import RuledCore
import Testing

@Suite struct EffectTests {
  @Test func `once is true the first time, and again when it expires`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function() decide('ever', once('a')) decide('hour', once('b', 3600)) "
        + "decide('again', once('a')) end } rule 'f' { on = 'forget', run = function() forget() decide('a', once('a')) end }"
    ])
    #expect(try engine.send("x")["decisions"]?["p"] == ["ever": true, "hour": true, "again": false])
    #expect(try engine.send("x")["decisions"]?["p"] == ["ever": false, "hour": false, "again": false])
    try engine.local.advance(microseconds: Limits.hour)
    #expect(try engine.send("x")["decisions"]?["p"] == ["ever": false, "hour": true, "again": false])
    #expect(try engine.send("x", [:], to: "user:2")["decisions"]?["p"]?["ever"] == true)
    #expect(try engine.send("forget")["decisions"]?["p"]?["a"] == true)
    #expect(try engine.send("x")["decisions"]?["p"] == ["ever": false, "hour": true, "again": false])
  }

  @Test func `the first to decide a key wins`() throws {
    let engine = try Engine([
      "p": "rule 'late' { on = 'x', run = function() decide('k', 'late') end } "
        + "rule 'early' { on = 'x', priority = 1, run = function() decide('k', 'early') end }"
    ])
    #expect(try engine.send("x")["decisions"]?["p"] == ["k": "early"])
  }

  @Test func `an effect under a key is recorded once and keeps its id`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function(e) decide('id', emit('mail', 'm', {}, { key = e.data.k })) end }"
    ])
    let first = try engine.send("x", ["k": "a"])
    let again = try engine.send("x", ["k": "a"])
    let other = try engine.send("x", ["k": "b"])
    #expect(first["effects"]?[0]?["id"] == first["decisions"]?["p"]?["id"])
    #expect(again["decisions"]?["p"]?["id"] == first["decisions"]?["p"]?["id"])
    #expect(again["effects"] == [])
    #expect(other["decisions"]?["p"]?["id"] != first["decisions"]?["p"]?["id"])
    #expect(try engine.stored(.effect).count == 2)
  }

  @Test func `effects for the client live in the reply alone`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function() emit('client', 'c', { a = 1 }) emit('mail', 'm') end }"
    ])
    let outcome = try engine.send("x")
    #expect(outcome["effects"]?.arrayValue?.map { $0["sink"] } == ["client", "mail"])
    #expect(try engine.stored(.effect).map { $0["sink"] } == ["mail"])
  }

  @Test func `counters are shared, summed, and kept over a restart`() throws {
    let text = """
      rule 'r' { on = 'x', run = function(e) count('p.n') count('p.by', { kind = e.data.kind }, 2) if e.data.fail then error('no') end end }
      query 'all' (function(state, args) return counters('p.') end)
      """
    let engine = try Engine(["p": text])
    try engine.send("x", ["kind": "a"])
    try engine.send("x", ["kind": "a"], to: "user:2")
    try engine.send("x", ["kind": "b", "fail": true])
    let expected: JSONValue = [
      ["name": "p.by", "labels": ["kind": "a"], "value": 4], ["name": "p.n", "labels": [:], "value": 2],
    ]
    #expect(try engine.local.query("p.all", subject: nil, arguments: nil) == expected)
    let again = try Engine(["p": text], store: engine.store)
    #expect(try again.local.query("p.all", subject: nil, arguments: nil) == expected)
    try again.send("x", ["kind": "a"])
    let third = try Engine(["p": text], store: engine.store)
    #expect(try third.local.query("p.all", subject: nil, arguments: nil)[1]?["value"] == 3)
  }

  @Test func `peek sees another plugin's state as it stood before the event`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = 'x', run = function(e, s) s.n = (s.n or 0) + 1 end }",
      "b": "rule 'r' { on = 'x', run = function() local a = peek('a') decide('n', a and a.n or 'none') end }",
    ])
    #expect(try engine.send("x")["decisions"]?["b"]?["n"] == "none")
    #expect(try engine.send("x")["decisions"]?["b"]?["n"] == 1)
  }

  @Test func `a query reads and changes nothing`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function(e, s) s.list = { 1, 2 } end } "
        + "query 'read' (function(s, args) return { list = s and s.list, args = args } end) "
        + "query 'write' (function(s) s.list = nil end) query 'once' (function() return once('a') end)"
    ])
    try engine.send("x")
    let read = try engine.local.query("p.read", subject: "user:1", arguments: ["a": [1]])
    #expect(read == ["list": [1, 2], "args": ["a": [1]]])
    #expect(try engine.local.query("p.read", subject: nil, arguments: nil) == ["args": [:]])
    #expect(throws: RequestError.self) { try engine.local.query("p.write", subject: "user:1", arguments: nil) }
    #expect(throws: RequestError.self) { try engine.local.query("p.once", subject: "user:1", arguments: nil) }
    #expect(throws: RequestError.self) { try engine.local.query("p.nothing", subject: "user:1", arguments: nil) }
    #expect(try engine.state("p")?["list"] == [1, 2])
  }
}
