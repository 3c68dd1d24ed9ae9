import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

@Suite struct ShadowWorldTests {
  private static let rules = SeededTraffic.plugin(
    "p", "plugin { name = 'p' } rule 'a' { on = 'a', run = function() decide('n', 1) end }")

  private func entries(_ subjects: Range<Int>) throws -> [JournalEntry] {
    let engine = try RecordingEngine(RulesSource(plugins: [Self.rules]))
    for subject in subjects { try engine.send(["type": "a", "subject": .string("user:\(subject)")]) }
    return engine.entries
  }

  private static let publishing = SeededTraffic.plugin(
    "p",
    """
    plugin { name = 'p' }
    rule 'join' { on = 'join', run = function(e, s) s.n = 0 topic.join('all') end }
    rule 'go' { on = 'go', run = function(e, s) s.n = 1 publish('all', 'told') end }
    rule 'clear' { on = 'clear', run = function(e, s) s.n = s.n + 10 forget { past = true } end }
    rule 'told' { on = 'told', run = function(e, s) s.n = (s.n or 0) + 1 decide('n', s.n) end }
    """)

  /// The outcomes of a shadow with the same rules over a copy of the store, which plays these parts one after the other.
  private func outcomes(_ parts: [[JournalEntry]], over store: MemoryStore) throws -> JSONValue? {
    let lua = LuaWorker()
    let catalog = try CatalogBuilder.build(
      RulesSource(plugins: [Self.publishing]), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
    let world = try ShadowWorld(
      rules: catalog, on: SubjectShare(percent: 100, revision: catalog.revision), lua: lua, base: store,
      configuration: Configuration())
    for (index, part) in parts.enumerated() {
      try world.play(part, before: index + 1 < parts.count ? parts[index + 1] : [])
    }
    return world.found["outcomes"]
  }

  @Test func `members get a publication that was under way when the shadow began`() throws {
    let engine = try RecordingEngine(RulesSource(plugins: [Self.publishing]))
    for n in 1...3 { try engine.send(["type": "join", "subject": .string("user:\(n)")]) }
    for n in 1...2 { try engine.send(["type": "go", "subject": "author", "id": .string("g\(n)")]) }
    try engine.commit()
    let (copy, count) = (try engine.store.copy(), engine.entries.count)
    try engine.send(["type": "go", "subject": "author", "id": "g3"])
    for _ in 1...3 { try engine.publish() }
    for n in 1...3 { try engine.deliver(to: "user:\(n)") }
    let entries = Array(engine.entries[count...])
    #expect(entries.count == 10)
    #expect(try outcomes(entries.map { [$0] }, over: copy) == ["equal": 10, "changed": 0])
  }

  @Test func `a message that waited when its receiver's past was erased happens, however late`() throws {
    let engine = try RecordingEngine(RulesSource(plugins: [Self.publishing]))
    var random = SeededRandom(seed: 1)
    try engine.send(["type": "join", "subject": "user:1", "id": "j"])
    try engine.commit()
    let (copy, count) = (try engine.store.copy(), engine.entries.count)
    try engine.advance(microseconds: 5_000, &random)
    try engine.send(["type": "go", "subject": "author"])
    for _ in 1...2 { try engine.publish() }
    // The clock of the worker that erases is behind that of the author's.
    try engine.advance(microseconds: -5_000, &random)
    try engine.send(["type": "clear", "subject": "user:1", "id": "c"])
    for n in 1...3 { try engine.send(["type": "go", "subject": .string("other:\(n)")]) }
    try engine.commit()
    try engine.deliver(to: "user:1")
    let entries = Array(engine.entries[count...])
    #expect(entries.map(\.origin).suffix(4) == [.client, .client, .client, .message])
    #expect(entries[2].origin == .forget && entries[3].origin == .kept)
    let parts = [Array(entries[..<2]), Array(entries[2..<4])] + entries[4...].map { [$0] }
    #expect(try outcomes(parts, over: copy) == ["equal": 6, "changed": 0])
  }

  @Test func `what a subject alone had is gone from its findings once the subject is forgotten`() throws {
    func rules(_ word: String) -> PluginSource {
      SeededTraffic.plugin(
        "p",
        "plugin { name = 'p' } rule 'a' { on = 'a', run = function(e) decide('t', { e.data.text, '\(word)' }) end }")
    }
    let engine = try RecordingEngine(RulesSource(plugins: [rules("live")]))
    for (subject, text) in [("ada", "secret"), ("ada", "common"), ("bob", "common"), ("bob", "other")] {
      try engine.send(["type": "a", "subject": .string(subject), "id": .string(text), "data": ["text": .string(text)]])
    }
    try engine.forget("ada")
    let lua = LuaWorker()
    let catalog = try CatalogBuilder.build(
      RulesSource(plugins: [rules("tried")]), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
    let world = try ShadowWorld(
      rules: catalog, on: SubjectShare(percent: 100, revision: catalog.revision), lua: lua, base: MemoryStore(),
      configuration: Configuration())
    for (index, entry) in engine.entries.enumerated() {
      try world.play([entry], before: Array(engine.entries[(index + 1)...]))
      if entry.origin == .client { #expect(JSONValue.object(world.found).text.contains("secret")) }
    }
    try world.skip(engine.entries.filter { $0.subject == "bob" && $0.origin == .client })
    let found = JSONValue.object(world.found)
    #expect(!found.text.contains("secret") && !found.text.contains("ada"))
    #expect(found["examples"]?.arrayValue?.count == 2)
    #expect(found["decisions"]?[0]?["changes"]?.arrayValue?.compactMap { $0["count"]?.intValue } == [2, 1])
    #expect(found["decisions"]?[0]?["changed"] == 4)
    try engine.forget("bob")
    try world.play(engine.entries.suffix(1), before: [])
    #expect(world.found["examples"] == [], "those of a subject that it skips go with it, too")
  }

  @Test func `it skips as many subjects as it can keep in mind, each counted once, and then says that it ends`() throws
  {
    let lua = LuaWorker()
    let catalog = try CatalogBuilder.build(
      RulesSource(plugins: [Self.rules]), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
    let world = try ShadowWorld(
      rules: catalog, on: SubjectShare(percent: 100, revision: catalog.revision), lua: lua, base: MemoryStore(),
      configuration: Configuration(), mostSkipped: 3)
    let first = try entries(0..<3)
    try world.skip(first)
    try world.skip(first)
    #expect(world.skipped.count == 3)
    // Events of subjects that were skipped are not played, others are.
    try world.play(try entries(2..<5), before: [])
    #expect(world.events == 2)
    let error = #expect(throws: RequestError.self) { try world.skip(try entries(3..<4)) }
    #expect(error?.message.contains("skipped 3 subjects") == true)
    #expect(world.skipped.count == 3)
  }
}
