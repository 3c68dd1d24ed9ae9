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
