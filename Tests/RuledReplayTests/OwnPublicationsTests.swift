import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

/// Rules that join topics and publish where those of the record do not: a backtest has what a daemon has that serves these rules.
@Suite struct OwnPublicationsTests {
  private let lua = LuaWorker()

  private static func rules(_ joins: String, _ publishes: String) -> RulesSource {
    let text = """
      plugin { name = 'p' }
      rule 'join' { on = 'join', run = function(e, s) s.n = 1 \(joins) end }
      rule 'go' { on = 'go', run = function(e, s) s.n = (s.n or 0) + 1 \(publishes) end }
      rule 'told' { on = 'told', run = function(e, s) s.told = (s.told or 0) + e.data.k decide('told', s.told) end }

      """
    return RulesSource(plugins: [SeededTraffic.plugin("p", text)])
  }

  private static let publishing = rules("topic.join('all')", "publish('all', 'told', { k = s.n })")

  private static func record(_ rules: RulesSource) throws -> RecordingEngine {
    let engine = try RecordingEngine(rules)
    for n in 1...4 { try engine.send(["type": "join", "subject": .string("user:\(n)"), "id": .string("j\(n)")]) }
    try engine.commit()
    for n in 1...3 {
      try engine.send(["type": "go", "subject": "author", "id": .string("g\(n)")])
      try engine.publish()
      try engine.publish()
      for subject in 1...4 { try engine.deliver(to: "user:\(subject)") }
    }
    try engine.forget("user:4")
    try engine.commit()
    return engine
  }

  private func play(_ entries: [JournalEntry], under rules: RulesSource, recorded: Bool) throws -> [JournalEntry] {
    let catalog = try CatalogBuilder.build(
      rules, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
    let world = try World(rules: catalog, lua: lua, recorded: recorded ? RecordedHistory(entries) : nil)
    var played: [JournalEntry] = []
    for entry in entries { played += try world.play(entry).map(\.entry) }
    return try played + world.finish(at: entries[entries.count - 1].at).map(\.entry)
  }

  private static func told(_ entries: [JournalEntry]) -> [String] {
    entries.filter { $0.origin == .message }.map { "\($0.subject) \(String(decoding: $0.decisions, as: UTF8.self))" }
  }

  @Test(arguments: [true, false]) func `rules that publish are played as a daemon would have served them`(
    recorded: Bool
  )
    throws
  {
    let served = try Self.record(Self.publishing).entries
    let quiet = try Self.record(Self.rules("", "")).entries
    #expect(Self.told(quiet).isEmpty && Self.told(served).count == 12)
    let clients = recorded ? quiet : quiet.filter { $0.origin == .client }
    let expected = recorded ? Self.told(served).filter { !$0.hasPrefix("user:4 ") } : Self.told(served)
    #expect(try Self.told(play(clients, under: Self.publishing, recorded: recorded)) == expected)
  }

  @Test func `members get a publication that was committed before their pasts were erased, and evaluated after that`()
    throws
  {
    let rules = Self.rules(
      "topic.join('all')", "if e.data.past then forget { past = true } else publish('all', 'told', { k = 1 }) end")
    let engine = try RecordingEngine(rules)
    var random = SeededRandom(seed: 1)
    try engine.send(["type": "join", "subject": "user:1", "id": "j"])
    try engine.commit()
    try engine.advance(microseconds: 5_000, &random)
    try engine.send(["type": "go", "subject": "author", "id": "g"])
    try engine.commit()
    try engine.advance(microseconds: -5_000, &random)
    try engine.send(["type": "go", "subject": "user:1", "id": "p", "data": ["past": true]])
    for _ in 1...2 { try engine.publish() }
    try engine.deliver(to: "user:1")
    let kept = try #require(engine.entries.firstIndex { $0.origin == .forget })
    let left = engine.entries.enumerated().filter { $0 >= kept || $1.subject != "user:1" }.map(\.element)
    #expect(Self.told(left).count == 1)
    #expect(try Self.told(play(left, under: rules, recorded: true)) == Self.told(left))
  }

  @Test(arguments: 1...4) func `members in the world of the candidate alone get publications of the record too`(
    threads: Int
  ) throws {
    let others = Self.rules(
      "if e.subject ~= 'user:3' then topic.join('all') end", "publish('all', 'told', { k = s.n })")
    let folder = TemporaryFolder()
    for (before, after) in [(others, Self.publishing), (Self.publishing, others)] {
      let load: Sides.Load = { lua throws(RequestError) in
        func load(_ source: RulesSource) throws(ReloadError) -> Catalog {
          try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
        }
        do throws(ReloadError) { return (try load(before), nil, try load(after)) } catch {
          throw RequestError(.unavailable, "\(error)")
        }
      }
      let backtest = try JournalBacktest(
        ListedJournal(entries: Self.record(before).entries, gaps: []), since: nil, configuration: Configuration(),
        temporary: folder.path)
      let found = try backtest.play(load, threads: threads) { _ in true }
      let report = found.comparison.json(baseline: "b", candidate: "c", folder: "next")
      let messages = try [before, after].map { try Self.told(Self.record($0).entries).count }
      #expect(report["messages"] == ["before": .integer(Int64(messages[0])), "after": .integer(Int64(messages[1]))])
    }
  }

  @Test func `recorded publications do not happen under rules that do not publish`() throws {
    let served = try Self.record(Self.publishing).entries
    #expect(try Self.told(play(served, under: Self.rules("topic.join('all')", ""), recorded: true)).isEmpty)
    #expect(try Self.told(play(served, under: Self.publishing, recorded: true)) == Self.told(served))
  }
}
