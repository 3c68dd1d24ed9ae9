import RuledCore
package import RuledJournal
import RuledLua

/// A backtest on events from a file instead of a journal: from empty states, as if clients sent the events at their times.
package struct EventsBacktest {
  private let temporary: String
  private let count: Int

  /// A backtest of about `count` events, with the states of both sides in the folder `temporary`.
  package init(temporary: String, count: Int) {
    self.temporary = temporary
    self.count = count
  }

  /// Plays events on both sides.
  ///
  /// - Parameters:
  ///   - rules: makes the rules of both sides.
  ///   - threads: how many threads may play at once; with more than one the events may be asked for twice.
  ///   - events: calls its argument with each event until that returns false; gives whether these were all events.
  /// - Returns: the comparison of the given events.
  /// - Throws: what `events` throws, or when a store can't be written or rules don't load.
  package func play(
    _ rules: @escaping Sides.Load, threads: Int, _ events: (_ play: (JournalEntry) throws -> Bool) throws -> Bool
  ) throws -> JournalBacktest.Found {
    if threads > 1, let found = try attempt(rules, threads, events) { return found }
    return try attempt(rules, 1, events) ?? JournalBacktest.Found(comparison: Comparison(), isWhole: false)
  }

  private func attempt(
    _ rules: @escaping Sides.Load, _ threads: Int, _ events: (_ play: (JournalEntry) throws -> Bool) throws -> Bool
  ) throws -> JournalBacktest.Found? {
    let stores = try TemporaryStores(of: nil, in: temporary)
    defer { withExtendedLifetime(stores) {} }
    let replay = try Replay(setup(rules, stores), threads: threads)
    var end: Timestamp?
    let isWhole = try events { entry in
      end = max(end ?? entry.at, entry.at)
      return try replay.play(entry, isCompared: true)
    }
    return try replay.finish(at: isWhole ? end : nil).map { JournalBacktest.Found(comparison: $0, isWhole: isWhole) }
  }

  /// Calls `body` with both sides, on which it can play events in order and explain some of them.
  ///
  /// - Throws: what `body` throws, or when a store can't be made or rules don't load.
  package func withSides(_ rules: @escaping Sides.Load, _ body: (Sides) throws -> Void) throws {
    let stores = try TemporaryStores(of: nil, in: temporary)
    defer { withExtendedLifetime(stores) {} }
    try body(try setup(rules, stores).sides(LuaWorker()))
  }

  private func setup(_ rules: @escaping Sides.Load, _ stores: TemporaryStores) -> Replay.Setup {
    Replay.Setup(
      rules: rules, configuration: Configuration(), baseline: stores.baseline, candidate: stores.candidate,
      recorded: nil, events: count)
  }
}
