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

  /// Loads rules under one configuration, the baseline's a second time if anything is played before the range.
  ///
  /// `refusal` makes the error of the reasons for which they don't load.
  package static func loading(
    _ baseline: RulesSource, _ candidate: RulesSource, warmsUp: Bool,
    configuration: [String: Configuration.Plugin], now: Timestamp,
    refusal: @escaping @Sendable (_ reasons: String) -> RequestError
  ) -> Load {
    { worker throws(RequestError) in
      do throws(ReloadError) {
        func load(_ rules: RulesSource) throws(ReloadError) -> Catalog {
          try CatalogBuilder.build(
            rules, configuration: configuration, previous: nil, worker: worker, now: now)
        }
        return (try load(baseline), warmsUp ? try load(baseline) : nil, try load(candidate))
      } catch { throw refusal(error.errors.map(\.description).joined(separator: "; ")) }
    }
  }

  /// The comparisons so far, by the lane of the subject.
  let comparisons = (0..<SubjectLanes.count).map { _ in Comparison() }
  private let lanes: SubjectLanes
  /// Whether entries have recorded outcomes.
  private let isRecorded: Bool
  private let baseline: World
  private let candidate: World
  private let rules: Rules
  private var hasBegun = false
  /// Whether a subject joined or left other topics on one side than on the other.
  private(set) var hasDifferentMembers = false
  /// Whether anybody has published to a topic.
  private(set) var hasPublished = false

  /// The contents with which worlds begin, on any thread.
  struct Setup: Sendable {
    var rules: Load
    /// The limits of both sides.
    var configuration: Configuration
    /// The stores to begin from, which the sides change.
    var stores: (baseline: any StateStore, candidate: any StateStore)
    /// The messages and timers of the entries to be played; nil for events of clients alone.
    var recorded: RecordedHistory?
    /// About how many events will be played: of many, the instructions of one event in 16 are counted.
    var events: Int
  }

  /// Two sides of the calling thread, for the subjects in the lanes `own`, or for all; throws when a store can't be read.
  init(_ setup: Setup, lua: LuaWorker, own: Set<Int>? = nil) throws(RequestError) {
    let rules = try setup.rules(lua)
    self.rules = rules
    lanes = setup.recorded?.lanes ?? SubjectLanes()
    isRecorded = setup.recorded != nil
    let mask: UInt64 = setup.events > Self.mostCounted ? 15 : 0
    func world(_ rules: Catalog, _ store: any StateStore) throws(RequestError) -> World {
      try World(
        rules: rules, lua: lua, base: store, configuration: setup.configuration, recorded: setup.recorded,
        costMask: mask)
    }
    baseline = try world(rules.baseline, setup.stores.baseline)
    candidate = try world(rules.warmUp ?? rules.candidate, setup.stores.candidate)
    candidate.note(rules.baseline)
    candidate.original = baseline
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

  /// Plays an entry on both sides, and compares the outcomes if it is in the range; before the range both sides have the baseline's rules.
  package func play(_ entry: JournalEntry, isCompared: Bool) throws(RequestError) {
    if isCompared { begin() }
    let before: [Played], after: [Played]
    do throws(RequestError) { (before, after) = (try baseline.play(entry), try candidate.play(entry)) } catch {
      var error = error
      if !isRecorded { error.message = "line \(entry.sequence): \(error.message)" }
      throw error
    }
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

  /// Advances to the time of an entry of another thread.
  func pass(_ entry: JournalEntry, isCompared: Bool) throws(RequestError) {
    if isCompared { begin() }
    let before = try baseline.pass(entry)
    let after = try candidate.pass(entry)
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
    if !hasDifferentMembers { hasDifferentMembers = Self.memberships(before) != Self.memberships(after) }
    if !hasPublished { hasPublished = [before, after].joined().contains { !$0.publications.isEmpty } }
    if before.count == 1, after.count == 1, before[0].isRecorded, after[0].isRecorded {
      let comparison = comparison(of: before[0].entry.subject)
      comparison.add(recorded: recorded, baseline: before[0], candidate: after[0])
      return
    }
    for pair in Self.pairs(before, after) {
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

  private static func memberships(_ played: [Played]) -> UInt64 { played.reduce(0) { $0 &+ $1.memberships } }

  private func comparison(of subject: String) -> Comparison { comparisons[lanes.lane(of: subject)] }

  // MARK: Pairs

  /// The identity of an event: kind, subject, and the id or, where no ids agree, the type.
  private struct Identity: Hashable {
    var origin: JournalEntry.Origin
    var subject: String
    var text: String
  }

  /// The pairs of a step, in the baseline's order, and then the events of the candidate alone.
  private static func pairs(_ baseline: [Played], _ candidate: [Played]) -> [(baseline: Played?, candidate: Played?)] {
    var partners: [Int?] = Array(repeating: nil, count: baseline.count)
    var free = Set(candidate.indices)
    if let left = baseline.firstIndex(where: \.isRecorded), let right = candidate.firstIndex(where: \.isRecorded) {
      partners[left] = right
      free.remove(right)
    }
    pair(baseline, candidate, &partners, &free) { $0.eventID }
    pair(baseline, candidate, &partners, &free) { $0.eventType }
    return baseline.indices.map { index in
      (baseline[index], partners[index].map { candidate[$0] })
    } + free.sorted().map { (nil, candidate[$0]) }
  }

  private static func pair(
    _ baseline: [Played], _ candidate: [Played], _ partners: inout [Int?], _ free: inout Set<Int>,
    by text: (JournalEntry) -> String
  ) {
    guard !free.isEmpty, partners.contains(where: { $0 == nil }) else { return }
    func identity(_ played: Played) -> Identity {
      Identity(origin: played.entry.origin, subject: played.entry.subject, text: text(played.entry))
    }
    var waiting: [Identity: [Int]] = [:]
    for index in free.sorted(by: >) { waiting[identity(candidate[index]), default: []].append(index) }
    for index in baseline.indices where partners[index] == nil {
      guard let partner = waiting[identity(baseline[index])]?.popLast() else { continue }
      partners[index] = partner
      free.remove(partner)
    }
  }
}
