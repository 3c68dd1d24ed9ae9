import RuledCore
import RuledEngine
import RuledLua
import Testing

/// Events and arguments are checked against what plugins declare.
@Suite struct SchemaTests {
  private func refusal(_ engine: Engine, _ data: JSONValue, source: String = "s") -> RequestError? {
    do {
      try engine.send("promo.redeemed", data, ["source": .string(source)])
      return nil
    } catch { return error as? RequestError }
  }

  private static let declared =
    "event 'promo.redeemed' { code = 'string', amount = 'integer?' } "
    + "rule 'r' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 end }"

  @Test func `An event that is not as declared is refused with the path, and changes nothing`() throws {
    let engine = try Engine(["p": Self.declared])
    let error = refusal(engine, ["code": "a", "amount": "5"])
    #expect(error == .invalidParams(path: "params.data.amount", "must be an integer, not a string"))
    #expect(refusal(engine, [:]) == .invalidParams(path: "params.data.code", "is required"))
    #expect(throws: RequestError.self) { try engine.send("promo.redeemed", [:], ["explain": true, "dryrun": true]) }
    #expect(try engine.state("p") == nil)
    try engine.send("promo.redeemed", ["code": "a", "further": 1])
    try engine.send("other", ["code": 1])
    #expect(try engine.state("p")?["n"] == 2)
  }

  @Test func `A repeat gets its first outcome even if rules came since that would refuse it`() throws {
    let engine = try Engine(["p": "rule 'r' { on = '*', run = function() decide('k', 1) end }"])
    try engine.send("promo.redeemed", [:], ["id": "1", "source": "s"])
    try engine.adopt(["p": Self.declared])
    #expect(try engine.send("promo.redeemed", [:], ["id": "1", "source": "s"])["duplicate"] == true)
    #expect(throws: RequestError.self) { try engine.send("promo.redeemed", [:], ["id": "2", "source": "s"]) }
  }

  @Test func `Of two plugins that declare an event both hold, and a closed one takes the other's members`() throws {
    let engine = try Engine([
      "a": "event('promo.redeemed', { code = 'string' }, { closed = true })",
      "b": "event 'promo.redeemed' { amount = 'integer?' } rule 'r' { on = '*', run = function() end }",
    ])
    #expect(refusal(engine, ["code": "a", "amount": 1]) == nil)
    #expect(refusal(engine, ["code": "a", "amount": "1"])?.message.hasPrefix("params.data.amount:") == true)
    #expect(
      refusal(engine, ["code": "a", "amuont": 1])
        == .invalidParams(path: "params.data.amuont", "is unknown; did you mean 'amount'?"))
  }

  @Test func `A plugin judges only events of sources that it sees, and one that only documents none`() throws {
    let engine = try Engine(["p": Self.declared], manifest: "sources = { 'boss/*' }")
    #expect(refusal(engine, [:], source: "other") == nil)
    #expect(refusal(engine, [:], source: "boss/1") != nil)
    let open = try Engine(["p": "event('promo.redeemed', { code = 'string' }, { checked = false })"])
    #expect(refusal(open, ["code": 1]) == nil)
  }

  @Test(arguments: [
    ("raise('promo.redeemed', {})", "raise of 'promo.redeemed': data.code is required"),
    (
      "send('user:2', 'promo.redeemed', { code = 'a', amount = 0.5 })",
      "send of 'promo.redeemed': data.amount must be an integer, not a number"
    ),
    (
      "timer.set('t', now() + 1, 'promo.redeemed', { code = false })",
      "timer.set of 'promo.redeemed': data.code must be a string, not a boolean"
    ),
  ])
  func `A rule that makes an event against its declaration fails with kind value`(call: String, message: String) throws
  {
    let engine = try Engine([
      "p": Self.declared, "q": "rule 'sayer' { on = 'x', run = function(e, s) s.said = true \(call) end }",
    ])
    for explain in [false, true] {
      let failure = try engine.send("x", [:], ["explain": .bool(explain)])["failures"]?[0]
      #expect(failure?["kind"] == "value" && failure?["rule"] == "sayer" && failure?["plugin"] == "q")
      #expect(failure?["message"]?.stringValue == message)
      #expect(failure?["file"] == "q/plugin.lua" && failure?["line"] == 1)
    }
    #expect(try engine.state("q") == nil)
  }

  @Test func `An event that a rule raises is checked before the plugin's own rules see it`() throws {
    let engine = try Engine([
      "p": """
      event 'typed' { n = 'integer' }
      rule 'a' { on = 'x', run = function()
        raise('typed', { n = '5' })
      end }
      rule 'b' { on = 'typed', run = function(e, s) s.n = e.data.n.none.none end }
      """
    ])
    let failure = try engine.send("x")["failures"]?[0]
    #expect(failure?["kind"] == "value" && failure?["rule"] == "a" && failure?["line"] == 3)
    #expect(failure?["message"] == "raise of 'typed': data.n must be an integer, not a string")
  }

  @Test func `An event keeps its data while those that its rules raise are checked`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = 'x', run = function() raise('y', { n = 1 }) end }",
      "b": "event 'typed' { n = 'integer' } "
        + "rule 'r' { on = 'y', run = function(e, s) raise('typed', { n = 2 }) s.n = e.data.n end }",
    ])
    #expect(try engine.send("x").failureKinds == [])
    #expect(try engine.state("b")?["n"] == 1)
  }

  @Test func `A plugin that stays is checked as long as another one declares the event`() throws {
    let sayer = "rule 'sayer' { on = 'x', run = function() raise('promo.redeemed', {}) end }"
    let engine = try Engine(["q": sayer])
    #expect(try engine.send("x").failureKinds == [])
    try engine.adopt(["p": Self.declared, "q": sayer])
    #expect(try engine.send("x", [:], to: "user:2").failureKinds == ["value"])
    try engine.adopt(["q": sayer])
    #expect(try engine.send("x", [:], to: "user:3").failureKinds == [])
  }

  @Test func `Waiting events are not judged by rules that came later`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', run = function() timer.set('t', now() + 60, 'promo.redeemed', {}) end }"
    ])
    try engine.send("x")
    try engine.adopt(["p": Self.declared])
    try engine.local.advance(microseconds: 120_000_000)
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test func `Arguments of a query are checked, and unknown ones name the nearest`() throws {
    let engine = try Engine([
      "p": "query 'history' { args = { limit = 'integer?' }, run = function(s, args) return { args.limit or 0 } end }"
    ])
    #expect(try engine.local.query("p.history", subject: "user:1", arguments: ["limit": 5]) == [5])
    for (arguments, path, detail) in [
      (["limit": "5"], "params.args.limit", "must be an integer, not a string"),
      (["limti": 5], "params.args.limti", "is unknown; did you mean 'limit'?"),
      ([5], "params.args", "must be an object, not an array"),
    ] as [(JSONValue, String, String)] {
      #expect(throws: RequestError.invalidParams(path: path, detail)) {
        try engine.local.query("p.history", subject: "user:1", arguments: arguments)
      }
    }
  }
}
