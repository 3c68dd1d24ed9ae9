import RuledCore
import RuledJSON
import RuledStore
import Testing

@testable import RuledEngine

/// `forget { all = true }`: a rule erases its subject.
@Suite struct ForgetAllTests {
  private static let rules: KeyValuePairs = [
    "bad": "rule 'f' { on = 'fail', run = function(e) error(e.data.name) end }",
    "other":
      "rule 'r' { on = '*', run = function(e, s) s.name = e.data.name or 'none' emit('mail', 'm', { name = e.data.name }) end }",
    "p": """
    rule 'keep' { on = 'keep', run = function(e, s)
      s.name = e.data.name decide('name', e.data.name) emit('mail', 'm', { name = e.data.name }) once(e.data.name)
      timer.set('t', now() + 60, 'late', { name = e.data.name }) topic.join('t') board.set('b', 1) count('kept')
    end }
    rule 'go' { on = 'go', run = function(e, s)
      forget { all = true } forget() s.again = e.data.name send(e.subject, 'keep', e.data)
      send('user:2', 'told') decide('gone', true)
    end }
    rule 'fails' { on = 'go.failing', run = function() forget { all = true } if not settings.well then error('no') end end }
    rule 'wrong' { on = 'wrong', run = function(e) forget(e.data.options) end }
    """,
  ]

  private static func keys(_ engine: Engine) throws -> String {
    try engine.local.contents().map { String(decoding: $0.key + $0.value, as: UTF8.self) }.joined()
  }

  @Test func `nothing of the subject is left in the store, whichever plugin held it, but what others were told`() throws
  {
    let engine = try Engine(Self.rules)
    for type in ["keep", "fail"] { try engine.send(type, ["name": "marker"], to: "user:marker") }
    #expect(try Self.keys(engine).contains("marker"))
    let outcome = try engine.send("go", ["name": "marker"], to: "user:marker")
    #expect(outcome["decisions"]?["p"] == ["gone": true] && outcome["version"] == 3)
    try engine.local.runUntilIdle()
    #expect(try !Self.keys(engine).contains("marker"))
    #expect(engine.local.evaluator.counters(prefix: "kept").count == 1)
    #expect(try engine.local.state(of: "user:2", plugin: "other") != nil)
    #expect(try engine.send("keep", ["name": "new"], to: "user:marker")["version"] == 1)
  }

  @Test func `a rule that fails and a dry run erase nothing, and a retry erases`() throws {
    let engine = try Engine(Self.rules, manifest: "sinks = { 'client', 'mail' }, settings = { well = false }")
    try engine.send("keep", ["name": "marker"])
    let dry = try engine.send("go", ["name": "marker"], ["dryrun": true, "explain": true])
    let forgets = dry["trace"]?.arrayValue?.compactMap { $0["forgets"] }
    #expect(forgets == [["the subject", "the plugin's state of the subject"]])
    try engine.send("go.failing", ["name": "marker"])
    #expect(try engine.state("p")?["name"] == "marker")
    try engine.adopt(Self.rules, manifest: "sinks = { 'client', 'mail' }, settings = { well = true }")
    _ = try engine.retry(try #require(try engine.parked().first))
    #expect(try !Self.keys(engine).contains("marker"))
    #expect(engine.local.context.parkedCounts.all.isEmpty)
  }

  @Test(arguments: [#"{"all":1}"#, #"{"everything":true}"#, #""all""#])
  func `other options are refused`(_ options: String) throws {
    let outcome = try Engine(Self.rules).send("wrong", ["options": try JSONValue(parsing: options)])
    #expect(outcome["failures"]?[0]?["kind"] == "value")
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("{ all = true }") == true)
  }
}
