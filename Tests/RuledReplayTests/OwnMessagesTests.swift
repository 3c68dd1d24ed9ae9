import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport
import Testing

/// Rules that send more messages than those of the record: a backtest and a shadow have what a daemon has that serves these rules.
@Suite struct OwnMessagesTests {
  /// What happens to a daemon.
  private enum Step {
    /// An event of a subject, which sends messages to another.
    case event(of: String, to: String)
    case delivery(to: String)
    case erasure(of: String)
    case pause
  }

  private let lua = LuaWorker()

  private static func rules(_ more: String = "", _ first: String = "") -> RulesSource {
    let text = """
      plugin { name = 'p' }
      rule 'a' { on = 'a', run = function(e, s)
        \(first)
        s.n = (s.n or 0) + 1
        decide('n', s.n)
        send(e.data.to, 'm', { k = s.n })
        \(more)
      end }
      rule 'm' { on = 'm', run = function(e, s) s.m = (s.m or 0) + e.data.k decide('m', s.m) end }
      rule 't' { on = 't', run = function(e, s)
        assert(s.m)
        s.t = (s.t or 0) + 1
        decide('t', { m = s.m, t = s.t })
      end }

      """
    return RulesSource(plugins: [SeededTraffic.plugin("p", text)])
  }

  private static let live = rules()
  /// Its messages have other ids, and each is followed by one more to the same subject.
  private static let candidate = rules(
    "if not e.data.quiet then send(e.data.to, 't', {}) end", "decide('first', 1)")

  /// Random steps; with `deliversFirst` no message is erased with its receiver.
  ///
  /// A subject of which messages wait when it is erased sends nothing in that millisecond.
  private static func steps(seed: UInt64, deliversFirst: Bool) -> [Step] {
    var random = SeededRandom(seed: seed)
    func subject() -> String { "user:\(Int.random(in: 0..<4, using: &random))" }
    var steps: [Step] = []
    var waiting: [String: Set<String>] = [:]
    func deliver(to subject: String) {
      steps.append(.delivery(to: subject))
      for sender in waiting.keys { waiting[sender]?.remove(subject) }
    }
    for _ in 0..<120 {
      let one = subject()
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<10:
        let other = subject()
        guard one != other else { continue }
        steps.append(.event(of: one, to: other))
        waiting[one, default: []].insert(other)
      case 10..<16: deliver(to: one)
      case 16..<18:
        if deliversFirst { deliver(to: one) }
        steps.append(.erasure(of: one))
        if waiting[one]?.isEmpty == false { steps.append(.pause) }
      default: steps.append(.pause)
      }
    }
    return steps + (0..<4).map { .delivery(to: "user:\($0)") }
  }

  /// What rules make of the steps; with `isQuiet` a subject sends nothing more before it is erased for the last time.
  private static func record(_ rules: RulesSource, _ steps: [Step], isQuiet: Bool = false) throws -> [JournalEntry] {
    var random = SeededRandom(seed: 1)
    let engine = try RecordingEngine(rules)
    for (index, step) in steps.enumerated() {
      switch step {
      case .event(let subject, let other):
        let isErased = steps[index...].contains { if case .erasure(of: subject) = $0 { true } else { false } }
        try engine.send([
          "type": "a", "subject": .string(subject), "id": .string("e\(index)"),
          "data": ["to": .string(other), "quiet": .bool(isQuiet && isErased)],
        ])
      case .delivery(let subject): try engine.deliver(to: subject)
      case .erasure(let subject): try engine.forget(subject)
      case .pause: try engine.advance(microseconds: 1_500, &random)
      }
    }
    return engine.entries
  }

  private func catalog(_ source: RulesSource) throws -> Catalog {
    try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
  }

  /// What a journal gives of entries: those of a subject that was erased later are not there.
  private static func withoutErased(_ entries: [JournalEntry]) -> [JournalEntry] {
    var erased: [String: UInt64] = [:]
    for entry in entries where entry.origin == .forget { erased[entry.subject] = entry.sequence }
    return entries.filter { $0.origin == .forget || $0.sequence > erased[$0.subject] ?? 0 }
  }

  /// The decisions on each subject's events, in order.
  private static func decisions(_ entries: [JournalEntry]) -> [String: [String]] {
    var decisions: [String: [String]] = [:]
    for entry in entries where entry.isEvent {
      decisions[entry.subject, default: []].append(String(decoding: entry.decisions + entry.failures, as: UTF8.self))
    }
    return decisions
  }

  @Test(arguments: 0..<8) func `a backtest has the decisions of a daemon that serves the rules`(seed: UInt64) throws {
    let steps = Self.steps(seed: seed, deliversFirst: false)
    let left = Self.withoutErased(try Self.record(Self.live, steps, isQuiet: true))
    for rules in [Self.live, Self.candidate] {
      let world = try World(rules: try catalog(rules), lua: lua, recorded: RecordedHistory(left))
      let played = try left.flatMap { try world.play($0) }.map(\.entry)
      let expected = Self.withoutErased(try Self.record(rules, steps, isQuiet: true))
      #expect(Self.decisions(played) == Self.decisions(expected))
    }
  }

  @Test(arguments: 0..<8) func `a shadow has them too, however many entries it sees at a time`(seed: UInt64) throws {
    let steps = Self.steps(seed: seed, deliversFirst: true)
    let entries = try Self.record(Self.live, steps)
    let own = try Self.record(Self.candidate, steps)
    let expected = Comparison()
    let (events, others) = (entries.filter(\.isEvent), own.filter { !Self.isOwn($0) && $0.isEvent })
    #expect(events.count == others.count)
    for (entry, other) in zip(events, others) {
      expected.add(
        baseline: Played(entry: entry, isRecorded: true), candidate: Played(entry: other, isRecorded: true))
    }
    for entry in own where Self.isOwn(entry) {
      expected.add(baseline: nil, candidate: Played(entry: entry, isRecorded: false))
    }
    var random = SeededRandom(seed: seed)
    let rules = try catalog(Self.candidate)
    let shadow = try ShadowWorld(
      rules: rules, on: SubjectShare(percent: 100, revision: rules.revision), lua: lua, base: MemoryStore(),
      configuration: Configuration())
    var rest = entries[...]
    while !rest.isEmpty {
      let seen = rest.prefix(Int.random(in: 1...20, using: &random))
      rest = rest.dropFirst(seen.count)
      try shadow.play(Array(seen), before: Array(rest))
    }
    let report = expected.json(baseline: "before", candidate: "after", folder: "next")
    #expect(Self.figures(shadow.found["decisions"]) == Self.figures(report["decisions"]))
  }

  private static func isOwn(_ entry: JournalEntry) -> Bool {
    String(decoding: entry.event, as: UTF8.self).contains("\"type\":\"t\"")
  }

  /// How decisions compare, without the order in which changes came.
  private static func figures(_ decisions: JSONValue?) -> [JSONValue] {
    (decisions?.arrayValue ?? []).map { decision in
      var figures = decision.objectValue ?? [:]
      figures["changes"] = nil
      return .object(figures)
    }
  }
}
