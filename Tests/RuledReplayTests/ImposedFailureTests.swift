import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledStore
import TestSupport
import Testing

@testable import RuledReplay

/// Failures that were the machine's doing, in backtests.
@Suite struct ImposedFailureTests {
  private let lua = LuaWorker()

  private func source(_ slow: String, _ steady: String) -> RulesSource {
    let plugins = [("slow", slow), ("steady", steady)].map { name, value in
      SeededTraffic.plugin(
        name, "plugin { name = '\(name)' } rule 'a' { on = 'a', run = function() decide('n', \(value)) end }")
    }
    return RulesSource(plugins: plugins)
  }

  private func catalog(_ source: RulesSource) throws -> Catalog {
    try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
  }

  /// What a backtest of recorded events says under the same rules, or others.
  private func report(_ entries: [JournalEntry], _ baseline: RulesSource, candidate: RulesSource) throws -> JSONValue {
    let rules = (try catalog(baseline), Catalog?.none, try catalog(candidate))
    let sides = try Sides(
      Sides.Setup(
        rules: { _ in rules }, configuration: Configuration(), stores: (MemoryStore(), MemoryStore()),
        recorded: RecordedHistory(entries), events: entries.count), lua: lua)
    for entry in entries { try sides.play(entry, isCompared: true) }
    let compared = Comparison()
    for comparison in sides.comparisons { compared.merge(comparison) }
    return compared.json(baseline: "b", candidate: "c", folder: "next")
  }

  /// What a backtest makes of an event on which both plugins ran out of time.
  private func report(candidate: RulesSource) throws -> JSONValue {
    let engine = try RecordingEngine(source("1", "1"))
    try engine.send(["type": "a", "subject": "user:1", "id": "e1"])
    try engine.commit()
    let first = try #require(engine.entries.first)
    let failures = ["slow", "steady"].map {
      #"{"plugin":"\#($0)","rule":"a","kind":"time","message":"took too long","file":"\#($0)/plugin.lua","line":1}"#
    }
    let entry = JournalEntry(
      sequence: first.sequence, at: first.at, now: first.now, subject: first.subject, version: first.version,
      revision: first.revision, origin: first.origin, event: first.event,
      failures: Array(failures.joined(separator: ",").utf8))
    return try report([entry], source("1", "1"), candidate: candidate)
  }

  @Test func `events of a subject that was put off are parked without a run in a replay too`() throws {
    let rules = RulesSource(plugins: [
      SeededTraffic.plugin(
        "slow",
        "plugin { name = 'slow' } rule 'a' { on = 'a', run = function(e) while e.data.loop do end decide('n', 1) end }")
    ])
    let engine = try RecordingEngine(rules)
    for number in 1...4 {
      try engine.send([
        "type": "a", "subject": "user:1", "id": .string("e\(number)"), "data": ["loop": .bool(number < 4)],
      ])
    }
    try engine.commit()
    let last = try #require(engine.entries.last)
    #expect(String(decoding: last.failures, as: UTF8.self).contains("the plugin is put off for this subject"))
    let report = try report(engine.entries, rules, candidate: rules)
    #expect(report["fidelity"]?["equal"] == 4 && report["outcomes"] == ["equal": 4, "changed": 0], "\(report.text)")
  }

  @Test func `they happen again on both sides under equal rules`() throws {
    let report = try report(candidate: source("1", "1"))
    #expect(report["fidelity"]?["equal"] == 1)
    #expect(report["outcomes"] == ["equal": 1, "changed": 0])
    #expect(report["failures"]?["before"] == 2 && report["failures"]?["after"] == 2)
  }

  @Test func `a plugin whose sources are others runs on both sides, and its changed decision shows`() throws {
    let report = try report(candidate: source("2", "1"))
    #expect(report["failures"]?["before"] == 1 && report["failures"]?["after"] == 1)
    let slow = report["decisions"]?.arrayValue?.first { $0["plugin"] == "slow" }
    #expect(slow?["changes"] == [["before": 1, "after": 2, "count": 1]])
    #expect(report["decisions"]?.arrayValue?.contains { $0["plugin"] == "steady" } == false)
  }
}
