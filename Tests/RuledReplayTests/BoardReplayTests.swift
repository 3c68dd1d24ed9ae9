import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

/// Boards in replays: the same as they were, and compared with those of other rules.
@Suite struct BoardReplayTests {
  private static func source(factor: Int) -> RulesSource {
    let rules = """
      plugin { name = 'p' }
      rule 'add' { on = 'add', run = function(e) board.add('kept', e.data.n, { keep = '10s' }) board.add('all', e.data.n * \(factor)) end }
      rule 'leave' { on = 'leave', run = function() board.leave('kept') end }
      """
    return RulesSource(plugins: [SeededTraffic.plugin("p", rules)])
  }

  /// Events of a few subjects, some time apart, so that the time of a board is over now and then.
  private static func record(seed: UInt64) throws -> RecordingEngine {
    var random = SeededRandom(seed: seed)
    let engine = try RecordingEngine(source(factor: 1))
    for step in 0..<200 {
      let subject = "user:\(Int.random(in: 0..<8, using: &random))"
      switch Int.random(in: 0..<20, using: &random) {
      case 0: try engine.restart()
      case 1: try engine.loseBatch()
      case 2: try engine.forget(subject)
      case 3..<6: try engine.commit()
      case 6..<12: try engine.advance(microseconds: Int64.random(in: 0...6_000_000, using: &random), &random)
      default:
        try engine.send([
          "type": Bool.random(using: &random) ? "add" : "leave", "subject": .string(subject), "id": .string("e\(step)"),
          "data": ["n": .integer(Int64.random(in: -1...3, using: &random))],
        ])
      }
    }
    try engine.commit()
    return engine
  }

  /// The scores on the boards of a store, by board and subject, without those of boards whose time is over.
  private static func scores(in store: MemoryStore, at now: Timestamp) throws -> [String: Double] {
    let context = EngineContext(store: store, clock: EngineClock(manual: now), configuration: .init(), log: NoLog())
    try context.boards.load(from: context)
    var found: [String: Double] = [:]
    try store.scan(prefix: StoreKey.prefix(.place)) { key, value in
      let key = try? ParsedKey(key)
      guard context.boards.isOn(key, at: now.microseconds), case .place(let subject, _, let board, _)? = key else {
        return true
      }
      found[[board, subject].map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")] = Place(value)?.score
      return true
    }
    return found
  }

  @Test(arguments: 0..<8) func `a replay gives the boards again, also those that ended meanwhile`(seed: UInt64) throws {
    let record = try Self.record(seed: seed)
    let lua = LuaWorker()
    let rules = try CatalogBuilder.build(
      Self.source(factor: 1), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
    let store = MemoryStore()
    let world = try World(rules: rules, lua: lua, base: store, recorded: RecordedHistory(record.entries[...]))
    for entry in record.entries { _ = try world.play(entry) }
    _ = try world.finish(at: record.now)
    #expect(try Self.scores(in: store, at: record.now) == Self.scores(in: record.store, at: record.now))
  }

  @Test(arguments: [1, 3]) func `a backtest compares the boards of both sides`(threads: Int) throws {
    let record = try Self.record(seed: 3)
    let folder = TemporaryFolder()
    let backtest = try JournalBacktest(ListedJournal(entries: record.entries), temporary: folder.path)
    let found = try backtest.play(
      { lua throws(RequestError) in
        func build(_ factor: Int) throws(ReloadError) -> Catalog {
          try CatalogBuilder.build(
            Self.source(factor: factor), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
        }
        do throws(ReloadError) {
          return (try build(1), nil, try build(2))
        } catch { throw RequestError(.unavailable, "\(error)") }
      }, threads: threads
    ) { _ in true }
    let boards = found.comparison.json(baseline: "a", candidate: "b", folder: "rules")["boards"]
    let scores = try Self.scores(in: record.store, at: record.now).filter { $0.key.hasPrefix("all ") }
    let same = scores.count { $0.value == 0 }
    let all = boards?.arrayValue?.first { $0["name"] == "all" }
    #expect(
      all == [
        "plugin": "p", "name": "all", "equal": .integer(Int64(same)), "changed": .integer(Int64(scores.count - same)),
      ])
    let kept = boards?.arrayValue?.first { $0["name"] == "kept" }
    #expect(kept == nil || kept?["changed"] == 0)
  }
}
