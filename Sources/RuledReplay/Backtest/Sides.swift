package import RuledCore
package import RuledEngine
package import RuledJournal
package import RuledLua
package import RuledStore

/// The two sides of a backtest, each a world of its own, and what is compared between them. It belongs to one thread.
package final class Sides {
  /// What was compared so far.
  package let comparison = Comparison()
  private let baseline: World
  private let candidate: World

  /// Two sides that begin from the same states.
  ///
  /// - Parameters:
  ///   - baseline: the rules of the one.
  ///   - candidate: the rules of the other; no catalog of the first, even if they are the same rules.
  ///   - lua: the calling thread's worker.
  ///   - stores: the stores to begin from, one for each side.
  ///   - configuration: the limits of both.
  ///   - recorded: what the entries to be played say about messages and timers; nil for events of clients alone.
  ///   - costMask: of which events the instructions are counted, as `World` says.
  /// - Throws: when a store can't be read.
  package init(
    baseline: Catalog, candidate: Catalog, lua: LuaWorker,
    stores: (baseline: any StateStore, candidate: any StateStore) = (MemoryStore(), MemoryStore()),
    configuration: Configuration = Configuration(), recorded: RecordedHistory? = nil, costMask: UInt64 = 0
  ) throws(RequestError) {
    self.baseline = try World(
      rules: baseline, lua: lua, base: stores.baseline, configuration: configuration, recorded: recorded,
      costMask: costMask)
    self.candidate = try World(
      rules: candidate, lua: lua, base: stores.candidate, configuration: configuration, recorded: recorded,
      costMask: costMask)
  }

  /// Plays an event on both sides; compares what it does, unless the event lies before the range.
  package func play(_ entry: JournalEntry, isRecorded: Bool, isCompared: Bool = true) throws(RequestError) {
    let before = try baseline.play(entry)
    let after = try candidate.play(entry)
    guard isCompared else { return }
    compare(before, after, recorded: isRecorded ? entry : nil)
  }

  /// Explains an event as both sides stand before it.
  package func explain(_ entry: JournalEntry) throws(RequestError) -> (baseline: JSONValue, candidate: JSONValue) {
    (try baseline.explain(entry), try candidate.explain(entry))
  }

  /// Ends the range: fires the timers that are due by `end`.
  package func finish(at end: Timestamp) throws(RequestError) {
    compare(try baseline.finish(at: end), try candidate.finish(at: end), recorded: nil)
  }

  private func compare(_ before: [Played], _ after: [Played], recorded: JournalEntry?) {
    for pair in PlayedPairs.match(before, after) {
      let isTheRecorded = pair.baseline?.isRecorded ?? pair.candidate?.isRecorded ?? false
      comparison.add(
        recorded: isTheRecorded ? recorded : nil, baseline: pair.baseline, candidate: pair.candidate)
    }
    if let recorded, recorded.isEvent, !before.contains(where: \.isRecorded) { comparison.addMissing(recorded) }
    if let recorded, recorded.origin == .forget { comparison.forget(recorded.subject) }
  }
}
