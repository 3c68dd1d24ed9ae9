import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

/// A replay under the rules of then gives every recorded outcome again, byte for byte.
@Suite struct ExactnessTests {
  private struct Record {
    var engine: RecordingEngine
    /// Copies of the store, with the number of entries at that moment.
    var snapshots: [(count: Int, store: MemoryStore)] = []
  }

  /// Some time of random traffic with everything that happens to a daemon.
  private static func record(seed: UInt64, steps: Int) throws -> Record {
    var random = SeededRandom(seed: seed)
    var record = Record(engine: try RecordingEngine(SeededTraffic.source()))
    let engine = record.engine
    var sent: [JSONObject] = []
    for step in 0..<steps {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<45:
        let event = SeededTraffic.event(&random, id: "e\(step)", at: engine.now)
        sent.append(event)
        try engine.send(event)
      case 45..<48: if let event = sent.randomElement(using: &random) { try engine.send(event) }
      case 48..<75: try engine.deliver(&random)
      case 75..<85: try engine.advance(microseconds: Int64.random(in: 0...20_000_000, using: &random), &random)
      case 85..<87: try engine.retry(plugin: Bool.random(using: &random) ? "actor" : "witness")
      case 87: try engine.forget(SeededTraffic.subject(&random))
      case 88:
        try engine.adopt(
          SeededTraffic.source(factor: Int.random(in: 1...3, using: &random)),
          configuration: Bool.random(using: &random)
            ? ["actor": .init(settings: ["words": .string("step \(step)")])] : [:])
      case 89: try engine.restart()
      case 90: try engine.loseBatch()
      case 91:
        try engine.commit()
        record.snapshots.append((engine.entries.count, try engine.store.copy()))
      case 92..<96: try engine.publish()
      default: try engine.commit()
      }
    }
    try engine.commit()
    return record
  }

  /// Replays entries and names the first difference.
  private static func difference(
    _ entries: ArraySlice<JournalEntry>, of record: Record, from base: MemoryStore
  ) throws -> String? {
    let lua = LuaWorker()
    var catalogs: [String: Catalog] = [:]
    func catalog(_ revision: String) throws -> Catalog {
      if let known = catalogs[revision] { return known }
      let (source, configuration) = try #require(record.engine.sources[revision])
      let catalog = try CatalogBuilder.build(
        source, configuration: configuration, previous: nil, worker: lua, now: LocalEngine.start)
      catalogs[revision] = catalog
      return catalog
    }
    guard let first = entries.first, let last = entries.last else { return nil }
    let world = try World(
      rules: try catalog(first.revision), lua: lua, base: base, recorded: RecordedHistory(entries))
    for entry in entries {
      world.adopt(try catalog(entry.revision))
      let played = try world.play(entry)
      let expected = entry.isEvent ? [entry] : []
      guard played.map({ withoutSender($0.entry) }) == expected.map(withoutSender) else {
        return "entry \(entry.sequence): \(describe([entry])) became \(describe(played.map(\.entry)))"
      }
    }
    let more = try world.finish(at: last.at)
    // What was kept comes last among equal scores.
    let boards = (try Self.boards(in: base).sorted(), try Self.boards(in: record.engine.store).sorted())
    guard boards.0 == boards.1 else { return "boards \(boards.1) became \(boards.0)" }
    return more.isEmpty ? nil : "after the range: \(describe(more.map(\.entry)))"
  }

  /// Who has which score on which board, in the order in which they had it.
  private static func boards(in store: MemoryStore) throws -> [String] {
    var found: [(number: UInt64, text: String)] = []
    try store.scan(prefix: StoreKey.prefix(.place)) { key, value in
      guard case .place(let subject, _, let board, _)? = try? ParsedKey(key), let place = Place(value) else {
        return true
      }
      let names = [board, subject].map { String(decoding: $0, as: UTF8.self) }
      found.append((place.number, "\(names.joined(separator: " ")) \(place.score)"))
      return true
    }
    return found.sorted { $0.number < $1.number }.map(\.text)
  }

  /// Without the plugin that sent a message: it is left out of a message that is retried alone while the plugin is suspended.
  private static func withoutSender(_ entry: JournalEntry) -> JournalEntry {
    guard entry.origin == .message, let start = entry.event.firstRange(of: Array(",\"sent_by\"".utf8)) else {
      return entry
    }
    var event = entry.event
    event.removeSubrange(start.lowerBound..<(event.count - 1))
    return entry.with(event: event)
  }

  private static func describe(_ entries: [JournalEntry]) -> String {
    entries.map { entry in
      func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
      return
        "{\(entry.origin) \(entry.subject) v\(entry.version) \(text(entry.event)) decisions \(text(entry.decisions)) "
        + "effects \(text(entry.effects)) failures \(text(entry.failures)) \(entry.digests) \(entry.consequences)}"
    }.joined(separator: "\n")
  }

  /// What a journal gives of entries: those of a subject that was erased later are not there.
  private static func withoutErased(_ entries: ArraySlice<JournalEntry>) -> ArraySlice<JournalEntry> {
    var erased: [String: UInt64] = [:]
    for entry in entries where entry.origin == .forget { erased[entry.subject] = entry.sequence }
    return entries.filter { $0.origin == .forget || $0.sequence > erased[$0.subject] ?? 0 }[...]
  }

  /// What a journal gives once it has erased the subjects from its files too: of a `forget`, only that it happened.
  private static func withoutNames(_ entries: ArraySlice<JournalEntry>) -> ArraySlice<JournalEntry> {
    withoutErased(entries).map { entry in
      guard entry.origin == .forget else { return entry }
      return JournalEntry(
        sequence: entry.sequence, at: entry.at, now: entry.now, subject: "", version: 0, revision: entry.revision,
        origin: .forget, event: entry.event)
    }[...]
  }

  @Test(arguments: 0..<2) func `every recorded outcome comes out again`(seed: UInt64) throws {
    let record = try Self.record(seed: seed, steps: 800)
    let entries = record.engine.entries
    #expect(record.engine.duplicates > 0)
    for origin in JournalEntry.Origin.allCases {
      #expect(entries.contains { $0.origin == origin }, "no entry of origin \(origin)")
    }
    #expect(try Self.difference(entries[...], of: record, from: MemoryStore()) == nil)
    for snapshot in record.snapshots.prefix(2) {
      let difference = try Self.difference(
        entries[snapshot.count...], of: record, from: try snapshot.store.copy())
      #expect(difference == nil, "from entry \(snapshot.count)")
    }
  }

  @Test(arguments: 6..<8) func `the rest of a record after subjects were erased comes out again`(
    seed: UInt64
  ) throws {
    let record = try Self.record(seed: seed, steps: 800)
    let entries = record.engine.entries
    let left = Self.withoutErased(entries[...])
    #expect(left.count < entries.count)
    #expect(try Self.difference(left, of: record, from: MemoryStore()) == nil)
    let nameless = Self.withoutNames(entries[...])
    #expect(try Self.difference(nameless, of: record, from: MemoryStore()) == nil, "without the names")
    for snapshot in record.snapshots.prefix(2) {
      let difference = try Self.difference(
        Self.withoutErased(entries[snapshot.count...]), of: record, from: try snapshot.store.copy())
      #expect(difference == nil, "from entry \(snapshot.count)")
    }
  }

  @Test func `messages of a publication that is under way in the base are replayed, and those sent behind it`() throws {
    let plugin = SeededTraffic.plugin(
      "p",
      """
      plugin { name = "p" }
      rule "join" { on = "join", run = function() topic.join("t") end }
      rule "go" { on = "go", run = function(event)
        publish("t", "told")
        send(event.subject, "told")
      end }
      rule "told" { on = "told", run = function(event, state) state.n = (state.n or 0) + 1 end }
      """)
    let record = Record(engine: try RecordingEngine(RulesSource(plugins: [plugin])))
    let engine = record.engine
    try engine.send(["type": "join", "subject": "member", "id": "j"])
    try engine.send(["type": "go", "subject": "author", "id": "1"])
    try engine.commit()
    let (base, count) = (try engine.store.copy(), engine.entries.count)
    // Of the same millisecond, so that the messages may seem to be of this event.
    try engine.send(["type": "go", "subject": "author", "id": "2"])
    for _ in 1...4 { try engine.publish() }
    for subject in ["member", "author"] { try engine.deliver(to: subject) }
    let entries = engine.entries[count...]
    #expect(entries.map(\.origin) == [.client, .message, .message, .message, .message])
    #expect(try Self.difference(entries, of: record, from: base) == nil)
  }
}
