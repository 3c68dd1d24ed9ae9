import RuledCore
import RuledEngine
import RuledLua
import RuledReplay
import TestSupport
import Testing

@testable import RuledJournal

/// Which events of a journal a backtest plays and compares, over a clock that went back.
@Suite struct RangeTests {
  private let folder = TemporaryFolder()

  /// The time so many seconds after the first event.
  private func time(_ seconds: Int64) -> Timestamp {
    Timestamp(microseconds: 1_800_000_000_000_000 + seconds * 1_000_000)
  }

  /// Events of one subject at these seconds, after snapshots at sequences with their seconds.
  private func journal(_ seconds: [Int64], snapshots: [(sequence: UInt64, seconds: Int64)] = []) -> ListedJournal {
    let entries = seconds.enumerated().map { index, second in
      JournalEntry(
        sequence: UInt64(index) + 1, at: time(second), now: time(second), subject: "user:1",
        version: UInt64(index) + 1, revision: "", origin: .client,
        event: Array("{\"type\":\"x\",\"subject\":\"user:1\",\"id\":\"e\(index)\"}".utf8))
    }
    return ListedJournal(
      entries: entries,
      snapshots: snapshots.map { JournalSnapshot(sequence: $0.sequence, at: time($0.seconds), path: folder("none")) })
  }

  private func backtest(
    _ journal: ListedJournal, since: Int64? = nil, until: Int64? = nil
  ) throws -> JournalBacktest {
    try JournalBacktest(journal, since: since.map(time), until: until.map(time), temporary: folder("."))
  }

  @Test func `events that come before the last of the range are played whatever their time, and compared by it`() throws
  {
    let backtest = try backtest(journal([240, 300, 299, 301]), until: 299)
    #expect(backtest.count == 3)
    let rules = RulesSource(plugins: [
      SeededTraffic.plugin(
        "p",
        "plugin { name = 'p' } rule 'x' { on = 'x', run = function(e, s) s.n = (s.n or 0) + 1 decide('n', s.n) end }")
    ])
    let load: Sides.Load = { lua throws(RequestError) in
      func build() throws(RequestError) -> Catalog {
        do throws(ReloadError) {
          return try CatalogBuilder.build(
            rules, configuration: [:], previous: nil, worker: lua, now: Timestamp(microseconds: 0))
        } catch { throw RequestError(.reloadFailed, "\(error)") }
      }
      return (try build(), nil, try build())
    }
    let found = try backtest.play(load, threads: 1) { _ in true }.comparison
    #expect(found.outcomes.equal == 2 && found.outcomes.changed == 0)
    let shown = found.json(baseline: "", candidate: "", gaps: [], folder: "", conditions: [])
    #expect(shown["range"]?["first"] == 1 && shown["range"]?["last"] == 3)
    #expect(shown["decisions"]?.text.contains("\"numbers\"") == true)
  }

  @Test func `rules of a later time that came into force before do not begin a range`() throws {
    var seen = journal([240, 300], snapshots: [(1, 241)])
    seen.entries.insert(
      JournalEntry(
        sequence: 0, at: time(900), now: time(900), subject: "", version: 0, revision: "", origin: .rules, event: []),
      at: 0)
    #expect(try backtest(seen, since: 300).count == 1)
  }

  @Test func `a range whose events have no base is refused, though rules came into force after its snapshot`() throws {
    var seen = journal([0, 1, 2], snapshots: [(3, 3)])
    seen.entries.removeFirst()
    #expect(try backtest(seen).problem?.contains("nothing can be replayed") == true)
    seen.entries.append(
      JournalEntry(
        sequence: 4, at: time(4), now: time(4), subject: "", version: 0, revision: "", origin: .rules, event: []))
    #expect(try backtest(seen).problem?.contains("nothing can be replayed") == true)
  }

  @Test func `a backtest begins from the last snapshot before the first event of its range`() throws {
    let seen = journal([240, 300, 250, 310], snapshots: [(0, 200), (1, 245), (2, 305), (3, 255)])
    #expect(
      try backtest(seen, since: 300).count == 3,
      "from the second snapshot, not from the fourth, which is of an earlier time")
    #expect(try backtest(seen, since: 310).count == 1)
    #expect(try backtest(seen, since: 320).count == 1)
  }
}
