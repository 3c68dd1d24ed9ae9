import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

/// A backtest finds the same whatever number of threads play it.
@Suite struct ReplayThreadsTests {
  /// How a backtest was played.
  private struct Outcome: Equatable {
    var report: String
    /// How often it began with the first entry.
    var passes: Int
  }

  private let folder = TemporaryFolder()

  // MARK: Traffic

  /// An event whose subjects are those of a family: families send each other no messages, and nobody publishes.
  private static func event(_ random: inout SeededRandom, id: String, at time: Timestamp, families: Int) -> JSONObject {
    let family = Int.random(in: 0..<families, using: &random)
    let text = JSONValue.object(SeededTraffic.event(&random, id: id, at: time)).text
      .replacing("\"user:", with: "\"user:\(family)-").replacing("\"publish\"", with: "\"send\"")
    return (try? JSONValue(parsing: text))?.objectValue ?? [:]
  }

  /// Some time of random traffic of several families, with everything that happens to a daemon.
  ///
  /// If `joinsFamilies`, messages join all subjects of each family at the end.
  private static func record(
    seed: UInt64, steps: Int, families: Int, joinsFamilies: Bool = false
  ) throws -> [JournalEntry] {
    var random = SeededRandom(seed: seed)
    let engine = try RecordingEngine(SeededTraffic.source())
    for step in 0..<steps {
      // Whatever the numbers are, a subject is erased, and rules change.
      if step == steps / 3 {
        try engine.forget("user:0-1")
        try engine.adopt(SeededTraffic.source(factor: 2))
      }
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<50: try engine.send(event(&random, id: "e\(step)", at: engine.now, families: families))
      case 50..<75: try engine.deliver(&random)
      case 75..<85: try engine.advance(microseconds: Int64.random(in: 0...20_000_000, using: &random), &random)
      case 85..<87: try engine.retry(plugin: Bool.random(using: &random) ? "actor" : "witness")
      case 87:
        let name = SeededTraffic.subject(&random).replacing("user:", with: "user:\(step % families)-")
        try engine.forget(name)
      case 88: try engine.adopt(SeededTraffic.source(factor: Int.random(in: 1...2, using: &random)))
      case 89: try engine.restart()
      case 90: try engine.loseBatch()
      default: try engine.commit()
      }
    }
    try engine.commit()
    if joinsFamilies { for family in 0..<families { try join(family, in: engine) } }
    try engine.commit()
    return engine.entries
  }

  /// Has the first subject of a family send each other one a message.
  private static func join(_ family: Int, in engine: RecordingEngine) throws {
    let others = (1..<12).map { "user:\(family)-\($0)" }
    let sends = others.map { other -> JSONValue in ["op": "send", "key": "a", "n": 1, "to": .string(other)] }
    try engine.send([
      "type": "go", "subject": .string("user:\(family)-0"), "id": .string("join \(family)"),
      "data": ["ops": .array(sends)],
    ])
    for other in others { try engine.deliver(to: other) }
  }

  /// The rules with some of their text replaced.
  private static func source(_ changes: (text: String, other: String)...) -> RulesSource {
    var rules = SeededTraffic.rules()
    for (text, other) in changes {
      let changed = rules["actor", default: ""].replacing(text, with: other)
      precondition(changed != rules["actor"], "the rules have no '\(text)'")
      rules["actor"] = changed
    }
    return RulesSource(plugins: rules.map { SeededTraffic.plugin($0.key, $0.value) })
  }

  /// Sets timers and messages of its own, and decides fractions, whose sums depend on their order.
  private static let differing = source(
    ("now() + op.n, 'due'", "now() + op.n / 2, 'due'"),
    ("decide(op.key, { n = op.n,", "decide(op.key, { n = op.n * 0.1,"),
    ("send(op.to, 'noted', { n = op.n, ops = op.ops })", "send(op.to, 'noted', { n = op.n + 1, ops = op.ops })"),
    ("rule 'cycle'", "rule 'own' { on = 'go', run = function(e) send(e.subject, 'noted', { n = 1 }) end } rule 'cycle'")
  )

  // MARK: Backtests

  private static func rules(_ candidate: RulesSource) -> Sides.Load {
    { lua throws(RequestError) in
      func load(_ source: RulesSource) throws(ReloadError) -> Catalog {
        try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
      }
      do throws(ReloadError) {
        return (try load(SeededTraffic.source()), try load(SeededTraffic.source()), try load(candidate))
      } catch { throw RequestError(.unavailable, "\(error)") }
    }
  }

  private static func text(_ found: JournalBacktest.Found) -> String {
    let result = found.comparison
    let report = result.json(baseline: "before", candidate: "after", folder: "next")
    return "\(report.text)\n\(result.details)\n\(result.changedSubjects)\n\(found.isWhole)"
  }

  private func play(
    _ entries: [JournalEntry], _ candidate: RulesSource, threads: Int, since: Timestamp? = nil,
    counters: Int = Limits.counters, until: Int = .max
  ) throws -> Outcome {
    let gap = JournalGap(first: UInt64(entries.count / 2), last: UInt64(entries.count / 2), reason: "a test")
    var configuration = Configuration()
    configuration.limits.counters = counters
    let backtest = try JournalBacktest(
      ListedJournal(entries: entries.filter { $0.sequence != gap.first }, gaps: [gap]),
      since: since, configuration: configuration, temporary: folder.path)
    var passes = 0
    let found = try backtest.play(Self.rules(candidate), threads: threads) { played in
      passes += played == 0 ? 1 : 0
      return played < until
    }
    return Outcome(report: Self.text(found), passes: passes)
  }

  @Test(arguments: 0..<2) func `the report is the same for any number of threads`(seed: UInt64) throws {
    let entries = try Self.record(seed: seed, steps: 400, families: 3, joinsFamilies: true)
    for origin in JournalEntry.Origin.allCases { #expect(entries.contains { $0.origin == origin }) }
    let since = entries[entries.count / 4].at
    for start in [nil, since] {
      let alone = try play(entries, Self.differing, threads: 1, since: start)
      #expect(alone.passes == 1)
      #expect(alone.report.contains("\"changed\":") && !alone.report.contains("\"outcomes\":{\"equal\":0"))
      for threads in [2, 4] {
        let parted = try play(entries, Self.differing, threads: threads, since: start)
        #expect(parted.report == alone.report, "\(threads) threads")
        #expect(parted.passes == 1, "the candidate joins no subjects that the record does not join")
      }
    }
  }

  @Test func `equal rules give no difference on several threads`() throws {
    let entries = try Self.record(seed: 7, steps: 300, families: 12)
    let found = try play(entries, SeededTraffic.source(), threads: 4)
    #expect(found.passes == 1)
    #expect(found.report.contains("\"changed\":0}") && !found.report.contains("\"new\":1"))
    #expect(found == (try play(entries, SeededTraffic.source(), threads: 1)))
  }

  @Test func `subjects that only the candidate joins are played in order`() throws {
    let entries = try Self.record(seed: 3, steps: 200, families: 12)
    let joining = Self.source(
      (
        "rule 'cycle'",
        "rule 'own' { on = 'go', run = function() send('user:all', 'noted', { n = 1 }) end } rule 'cycle'"
      ))
    let alone = try play(entries, joining, threads: 1)
    let parted = try play(entries, joining, threads: 4)
    #expect(parted.report == alone.report)
    #expect(parted.passes == 2, "once until the messages were noticed, and once in order")
  }

  @Test func `a publication of an event that differs is played in order`() throws {
    let engine = try RecordingEngine(SeededTraffic.source())
    for (number, op) in ["join", "join", "join", "publish", "state"].enumerated() {
      try engine.send([
        "type": "go", "subject": .string("user:\(number)"), "id": .string("e\(number)"),
        "data": ["ops": [["op": .string(op), "key": "a", "n": 1]]],
      ])
    }
    try engine.commit()
    let alone = try play(engine.entries, Self.differing, threads: 1)
    let parted = try play(engine.entries, Self.differing, threads: 4)
    #expect(parted.report == alone.report)
    #expect(parted.passes == 2, "the members may be on other threads")
  }

  @Test func `a plugin that may have no room for a counter is played in order`() throws {
    let entries = try Self.record(seed: 4, steps: 200, families: 12)
    let alone = try play(entries, Self.differing, threads: 1, counters: 2)
    let parted = try play(entries, Self.differing, threads: 4, counters: 2)
    #expect(alone.report.contains(#""labels":{"other":"true"}"#))
    #expect(parted.report == alone.report)
    #expect(parted.passes == 2)
  }

  @Test func `the entries that were played until an interrupt are the same for any number of threads`() throws {
    let entries = try Self.record(seed: 5, steps: 400, families: 3, joinsFamilies: true)
    let alone = try play(entries, Self.differing, threads: 1, until: 256)
    #expect(alone.report.hasSuffix("false"))
    for threads in [2, 4] {
      let parted = try play(entries, Self.differing, threads: threads, until: 256)
      #expect(parted.report == alone.report)
      #expect(parted.passes == 1)
    }
  }

  @Test func `temporary stores are gone at the end`() throws {
    let entries = try Self.record(seed: 6, steps: 100, families: 12)
    _ = try play(entries, Self.differing, threads: 2)
    _ = try play(entries, Self.differing, threads: 2, until: 0)
    #expect(TemporaryFolder.names(folder.path).isEmpty)
  }

  @Test func `events that are no journal's give the same report on several threads, repeats included`() throws {
    var random = SeededRandom(seed: 8)
    var events: [JournalEntry] = []
    for number in 1...200 {
      let time = Timestamp(microseconds: LocalEngine.start.microseconds + Int64(number) * 3_000_000)
      var event = Self.event(&random, id: "e\(number)", at: time, families: 12)
      // Without messages: where these go is not known before.
      event =
        (try JSONValue(parsing: JSONValue.object(event).text.replacing("\"send\"", with: "\"due\""))).objectValue ?? [:]
      let entry = JournalEntry(
        sequence: UInt64(number), at: time, now: time, subject: event["subject"]?.stringValue ?? "", version: 0,
        revision: "", origin: .client, event: Array(JSONValue.object(event).text.utf8))
      events += number % 10 == 0 ? [entry, entry] : [entry]
    }
    func play(_ candidate: RulesSource, threads: Int) throws -> Outcome {
      var passes = 0
      let backtest = JournalBacktest(
        events: ListedJournal(entries: events), count: events.count, temporary: folder.path)
      let found = try backtest.play(Self.rules(candidate), threads: threads) { played in
        passes += played == 0 ? 1 : 0
        return true
      }
      return Outcome(report: Self.text(found), passes: passes)
    }
    let quiet = Self.source(("now() + op.n, 'due'", "now() + op.n / 2, 'due'"))
    let alone = try play(quiet, threads: 1)
    for threads in [2, 4] { #expect(try play(quiet, threads: threads) == alone) }
    // A message to itself joins a subject to no other.
    #expect(try play(Self.differing, threads: 4) == (try play(Self.differing, threads: 1)))
  }
}
