import RuledCore
import RuledEngine
import RuledLua
import Testing

/// Where an event comes from, as rules see it, and types that only rules make.
@Suite struct OriginTests {
  private static let noting = """
    local function note(e, s) s.seen = s.seen or array {} s.seen[#s.seen + 1] = e.type .. ' ' .. e.origin .. ' ' .. (e.sender or '-') end
    rule 'all' { on = '*', run = function(e, s)
      note(e, s)
      if e.type == 'go' then raise('raised') send('user:2', 'sent') timer.set('t', now() + 5, 'due') end
      if e.type == 'sent' then raise('raised') send('user:2', 'again') end
    end }
    """

  private func seen(_ engine: Engine, _ subject: String = "user:1", of plugin: String = "p") throws -> [String] {
    try engine.state(plugin, of: subject)?["seen"]?.arrayValue?.compactMap(\.stringValue) ?? []
  }

  @Test func `rules see who made an event, and which subject sent it`() throws {
    let engine = try Engine(["p": Self.noting, "q": Self.noting.replacing("'go'", with: "'never'")])
    try engine.send("go", [:], to: "user:1", ["origin": "timer", "sender": "user:9", "from": "user:9"])
    try engine.local.advance(microseconds: 10 * Limits.second)
    let first = ["go client -", "raised raise -", "due timer -"]
    #expect(try seen(engine) == first && seen(engine, of: "q") == first)
    #expect(
      try seen(engine, "user:2")
        == ["sent message user:1", "raised raise -", "raised raise -", "again message user:2", "again message user:2"])
  }

  @Test func `a retry has the origin and the sender of the first time`() throws {
    let failing = "rule 'r' { on = { 'sent', 'due', 'raised', 'go' }, run = function() error('no') end }"
    let engine = try Engine(["a": Self.noting, "p": failing])
    try engine.send("go", [:], to: "user:1", ["origin": "timer"])
    try engine.local.advance(microseconds: 10 * Limits.second)
    for parked in try engine.parked() { _ = try engine.retry(parked) }
    try engine.adopt([
      "a": Self.noting, "p": Self.noting.replacing("'go'", with: "'never'").replacing("'sent'", with: "'never'"),
    ])
    for parked in try engine.parked() { _ = try engine.retry(parked) }
    #expect(try engine.parked().isEmpty)
    #expect(try seen(engine) == ["go client -", "raised raise -", "due timer -"])
    #expect(try seen(engine, "user:2") == ["sent message user:1", "raised raise -"])
  }

  // MARK: Types of rules

  private static let kept = """
    event 'told' { from = 'rules', kind = 'string' }
    rule 'r' { on = 'told', run = function(e, s) s.n = (s.n or 0) + 1 s.origin = e.origin end }
    rule 'go' { on = 'go', run = function() send('user:2', 'told', { kind = 'k' }) raise('told', { kind = 'k' }) timer.set('t', now(), 'told', { kind = 'k' }) end }
    """

  private func refusal(_ engine: Engine, _ data: JSONValue, _ more: JSONObject = [:]) -> RequestError? {
    do {
      try engine.send("told", data, to: "user:1", more)
      return nil
    } catch { return error as? RequestError }
  }

  @Test(arguments: [[:], ["dryrun": true], ["explain": true], ["internal": false]] as [JSONObject])
  func `a client's event of a type that only rules make is forbidden, whatever its data is`(_ more: JSONObject) throws {
    let engine = try Engine(["p": Self.kept])
    for data in [["kind": "k"], [:]] as [JSONValue] {
      let error = try #require(refusal(engine, data, more))
      #expect(error.code == .forbidden && error.details == ["detail": "made by rules only"])
    }
    #expect(try engine.state("p") == nil)
  }

  @Test func `messages, timers and raised events are not touched, and an administrator's neither`() throws {
    let engine = try Engine(["p": Self.kept])
    try engine.send("go")
    #expect(try engine.state("p") == ["n": 2, "origin": "timer"])
    #expect(try engine.state("p", of: "user:2") == ["n": 1, "origin": "message"])
    #expect(refusal(engine, ["kind": "k"], ["internal": true]) == nil)
    #expect(try engine.state("p") == ["n": 3, "origin": "client"])
    #expect(refusal(engine, [:], ["internal": true])?.code == .invalidParams)
  }

  @Test func `a client's event of such a type is forbidden under a known id, too`() throws {
    let engine = try Engine(["p": Self.kept])
    #expect(refusal(engine, ["kind": "k"], ["id": "1", "internal": true]) == nil)
    for data in [["kind": "k"], ["kind": "other"], [:]] as [JSONValue] {
      #expect(refusal(engine, data, ["id": "1"])?.code == .forbidden)
    }
    let again = try engine.send("told", ["kind": "k"], to: "user:1", ["id": "1", "internal": true])
    #expect(again["duplicate"] == true)
    #expect(try engine.state("p") == ["n": 1, "origin": "client"])
  }

  @Test func `plugins must agree on whether only rules make a type, and the error names both lines`() throws {
    let error = #expect(throws: ReloadError.self) {
      try Engine(["a": "\nevent 'told' {}", "b": "\n\nevent 'told' { from = 'rules' }"])
    }
    let found = try #require(error?.errors.first)
    #expect(error?.errors.count == 1 && found.file == "a/plugin.lua" && found.line == 2)
    #expect(found.message.contains("b/plugin.lua:3"))
    _ = try Engine(["a": "event 'told' { from = 'rules' }", "b": "event 'told' { from = 'rules', x = 'any?' }"])
  }

  @Test(arguments: ["rule", "query", "event", "web", "sink", "setting"])
  func `a declared name that is not UTF-8 does not load`(_ kind: String) {
    let error = #expect(throws: ReloadError.self) { try Engine(["p": "\n\(kind) '\\xff' (function() end)"]) }
    #expect(error?.errors.first?.message.contains("is not UTF-8") == true && error?.errors.first?.line != 0)
  }

  @Test func `a member of the data may be called from, and another word there is an error`() throws {
    let engine = try Engine([
      "p": "event 'told' { from = 'string: who' } rule 'r' { on = 'told', run = function() end }"
    ])
    #expect(refusal(engine, [:]) == .invalidParams(path: "params.data.from", "is required"))
    #expect(refusal(engine, ["from": "x"]) == nil)
    for word in ["rule", "rules: only", "client"] {
      let error = #expect(throws: ReloadError.self) { try Engine(["p": "event 'told' { from = '\(word)' }"]) }
      #expect(error?.errors.first?.message.contains("event 'told'.from is neither \"rules\"") == true)
    }
  }
}
