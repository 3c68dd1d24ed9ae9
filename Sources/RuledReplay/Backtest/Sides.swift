package import RuledCore
package import RuledEngine
package import RuledJournal
package import RuledLua
import RuledStore

/// The two sides of a backtest, each a world of its own, and the comparison between them.
///
/// It belongs to one thread.
package final class Sides {
  /// The rules of both sides; each catalog serves one world alone.
  ///
  /// `warmUp` are the baseline's once more, for the other side until the range begins; nil if nothing is played before.
  package typealias Rules = (baseline: Catalog, warmUp: Catalog?, candidate: Catalog)

  /// Loads the rules of both sides, for worlds of the calling thread.
  package typealias Load = @Sendable (LuaWorker) throws(RequestError) -> Rules

  /// The comparisons so far, by the lane of the subject.
  let comparisons = (0..<SubjectLanes.count).map { _ in Comparison() }
  private let lanes: SubjectLanes
  /// Whether entries have recorded outcomes.
  private let isRecorded: Bool
  private let baseline: World
  private let candidate: World
  private let rules: Rules
  private var hasBegun = false

  /// Two sides that begin from the same states.
  ///
  /// - Parameters:
  ///   - rules: the rules.
  ///   - lua: the calling thread's worker.
  ///   - stores: the stores to begin from, one for each side.
  ///   - configuration: the limits of both.
  ///   - recorded: the messages and timers of the entries to be played; nil for events of clients alone.
  ///   - events: about how many events will be played: of many, the instructions of one event in 16 are counted.
  ///   - own: the lanes of subjects whose events happen here; nil for all.
  /// - Throws: when a store can't be read.
  init(
    _ rules: Rules, lua: LuaWorker, stores: (baseline: any StateStore, candidate: any StateStore),
    configuration: Configuration, recorded: RecordedHistory?, events: Int, own: Set<Int>? = nil
  ) throws(RequestError) {
    self.rules = rules
    lanes = recorded?.lanes ?? SubjectLanes()
    isRecorded = recorded != nil
    let mask: UInt64 = events > Self.mostCounted ? 15 : 0
    baseline = try World(
      rules: rules.baseline, lua: lua, base: stores.baseline, configuration: configuration, recorded: recorded,
      costMask: mask)
    candidate = try World(
      rules: rules.warmUp ?? rules.candidate, lua: lua, base: stores.candidate, configuration: configuration,
      recorded: recorded, costMask: mask)
    candidate.note(rules.baseline)
    for world in [baseline, candidate] {
      if let own { world.isHere = { [lanes] subject in own.contains(lanes.lane(of: subject)) } }
    }
  }

  /// The most events of which all instructions are counted, since counting takes time.
  private static let mostCounted = 100_000

  /// Whether a message was sent to a subject of another thread.
  var hasMissed: Bool { baseline.hasMissed || candidate.hasMissed }

  /// The counters of each plugin, on both sides.
  var counterCounts: [[String: Int]] { [baseline.counterCounts, candidate.counterCounts] }

  /// Plays an entry on both sides.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - isCompared: whether it is in the range, so that its outcomes are compared; before the range both sides have the baseline's rules.
  /// - Throws: when a store can't be read or written.
  package func play(_ entry: JournalEntry, isCompared: Bool) throws(RequestError) {
    if isCompared { begin() }
    let before = try baseline.play(entry)
    let after = try candidate.play(entry)
    if isCompared { compare(before, after, recorded: isRecorded ? entry : nil) }
  }

  /// Begins the range: each side gets its own rules.
  ///
  /// From now on, recorded failures that depend on the machine are imposed only on plugins that are the same on both sides.
  private func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    candidate.adopt(rules.candidate)
    let others = Dictionary(uniqueKeysWithValues: rules.candidate.plugins.map { ($0.name, $0.source) })
    let alike = Set(rules.baseline.plugins.filter { others[$0.name] == $0.source }.map(\.name))
    for world in [baseline, candidate] { world.isImposed = { alike.contains($0) } }
  }

  /// Advances to the time of an event of another thread.
  func pass(_ moment: World.Moment, isCompared: Bool) throws(RequestError) {
    if isCompared { begin() }
    let before = try baseline.pass(moment)
    let after = try candidate.pass(moment)
    if isCompared { compare(before, after, recorded: nil) }
  }

  func noteGap() { for comparison in comparisons { comparison.noteGap() } }

  /// Explains an event from the states that both sides have before it.
  package func explain(_ entry: JournalEntry) throws(RequestError) -> (baseline: JSONValue, candidate: JSONValue) {
    begin()
    try finish(at: entry.at)
    return (try baseline.explain(entry), try candidate.explain(entry))
  }

  /// Ends the range: fires the timers that are due by `end`.
  func finish(at end: Timestamp) throws(RequestError) {
    compare(try baseline.finish(at: end), try candidate.finish(at: end), recorded: nil)
  }

  private func compare(_ before: [Played], _ after: [Played], recorded: JournalEntry?) {
    if before.isEmpty, after.isEmpty, recorded == nil { return }
    if before.count == 1, after.count == 1, before[0].isRecorded, after[0].isRecorded {
      let comparison = comparison(of: before[0].entry.subject)
      comparison.add(recorded: recorded, baseline: before[0], candidate: after[0])
      return
    }
    for pair in PlayedPairs.match(before, after) {
      let isTheRecorded = pair.baseline?.isRecorded ?? pair.candidate?.isRecorded ?? false
      let subject = pair.baseline?.entry.subject ?? pair.candidate?.entry.subject ?? ""
      comparison(of: subject).add(
        recorded: isTheRecorded ? recorded : nil, baseline: pair.baseline, candidate: pair.candidate)
    }
    guard let recorded else { return }
    if recorded.isEvent, !before.contains(where: \.isRecorded), !after.contains(where: \.isRecorded) {
      comparison(of: recorded.subject).addMissing(recorded)
    }
    if recorded.origin == .forget { comparison(of: recorded.subject).forget(recorded.subject) }
  }

  private func comparison(of subject: String) -> Comparison { comparisons[lanes.lane(of: subject)] }
}
