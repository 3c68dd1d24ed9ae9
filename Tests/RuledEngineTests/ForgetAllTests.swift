import RuledCore
import RuledJSON
import RuledStore
import Testing

@testable import RuledEngine

/// `forget { all = true }` and `forget { past = true }`: a rule erases its subject, or what is held of it beside what plugins keep.
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
    rule 'past' { on = { 'past', 'past.failing' }, run = function(e, s)
      s.name = nil forget { past = true } s.after = once('new') emit('mail', 'm', { name = 'marker' }) send(e.subject, 'told')
      send('user:2', 'told') if e.type == 'past.failing' and not settings.well then error('no') end
    end }
    rule 'due' { on = 'due', run = function(e, s) s.due = timer.due('t') s.told = topic.joined('t') end }
    rule 'fails' { on = 'go.failing', run = function() forget { all = true } if not settings.well then error('no') end end }
    rule 'wrong' { on = 'wrong', run = function(e) forget(e.data.options) end }
    """,
  ]

  private static func keys(_ engine: Engine) throws -> String {
    try engine.local.contents().map { String(decoding: $0.key + $0.value, as: UTF8.self) }.joined()
  }

  @Test func `nothing of the subject is left in the store, whichever plugin held it, but messages to others`() throws {
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

  @Test func `an erased past leaves the plugins' data, also by a retry, and a dry run tells of it`() throws {
    let engine = try Engine(Self.rules, manifest: "sinks = { 'client', 'mail' }, settings = { well = false }")
    try engine.send("keep", ["name": "marker"])
    for type in ["keep", "fail"] { try engine.send(type, ["name": "stays"]) }
    let dry = try engine.send("past", [:], ["dryrun": true, "explain": true])
    #expect(dry["trace"]?.arrayValue?.compactMap { $0["forgets"] } == [["the subject's past"]])
    let first = try engine.send("past")
    #expect(first["version"] == 4 && first["duplicate"] == false)
    let left = try #require(try engine.local.state(of: "user:1", plugin: "p"))
    #expect(left == ["after": true])
    /// Whether an effect, a parked event or a remembered outcome has the name.
    func isTold(_ name: String) throws -> Bool {
      try engine.local.contents().contains { entry in
        "epd".utf8.contains(entry.key[0]) && String(decoding: entry.value, as: UTF8.self).contains(name)
      }
    }
    for name in ["marker", "stays"] { #expect(try !isTold(name)) }
    #expect(engine.local.context.parkedCounts.all.isEmpty)
    try engine.local.runUntilIdle()
    #expect(try engine.local.state(of: "user:2", plugin: "other") != nil)
    #expect(try engine.send("due")["version"] == 6)
    let due = try #require(try engine.state("p"))
    #expect(due["due"] != nil && due["told"] == true)
    try engine.send("past.failing")
    try engine.adopt(Self.rules, manifest: "sinks = { 'client', 'mail' }, settings = { well = true }")
    _ = try engine.retry(try #require(try engine.parked().first))
    #expect(try !isTold("marker"))
    #expect(engine.local.context.parkedCounts.all.isEmpty)
  }

  @Test(
    arguments: [
      #"{"all":1}"#, #"{"past":"yes"}"#, #"{"past":true,"all":true}"#, #"{"everything":true}"#, #""all""#,
    ])
  func `other options are refused`(_ options: String) throws {
    let outcome = try Engine(Self.rules).send("wrong", ["options": try JSONValue(parsing: options)])
    #expect(outcome["failures"]?[0]?["kind"] == "value")
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("{ all = true }") == true)
  }
}
