import Glibc
package import RuledCore
package import RuledJournal
package import RuledLua
package import RuledStore

/// A backtest on a journal: from the states of the snapshot before the range, through all that was recorded since.
package final class JournalBacktest {
  /// Which part of a journal is played.
  package struct Selection: Sendable {
    /// Events before are played, and not compared; nil to begin with the journal.
    package var since: Timestamp?
    /// Events after are not played.
    package var until: Timestamp?
    /// Whether a subject's events are played.
    package var contains: @Sendable (_ subject: String) -> Bool

    /// A part of a journal.
    package init(
      since: Timestamp? = nil, until: Timestamp? = nil, contains: @escaping @Sendable (_ subject: String) -> Bool
    ) {
      self.since = since
      self.until = until
      self.contains = contains
    }
  }

  /// The parts of the history that are missing between the states to begin from and the end.
  package let gaps: [JournalGap]
  /// How many entries there are to play.
  package let count: Int
  private let source: any JournalSource
  private let selection: Selection
  private let range: JournalRange
  private let snapshot: JournalSnapshot?
  private let recorded: RecordedHistory
  private let temporary: String

  /// A backtest that has not begun.
  ///
  /// - Parameters:
  ///   - source: the journal.
  ///   - selection: what is played of it.
  ///   - temporary: a folder for the states of both sides.
  /// - Throws: when the journal can't be read.
  package init(_ source: any JournalSource, _ selection: Selection, temporary: String) throws(StoreError) {
    self.source = source
    self.selection = selection
    self.temporary = temporary
    var first: UInt64?
    try source.forEach(in: JournalRange()) { entry in
      first = entry.sequence
      return false
    }
    let base = Self.base(of: source, first: first ?? 0, since: selection.since)
    snapshot = base
    var range = JournalRange()
    range.first = base.map { $0.sequence + 1 } ?? 0
    range.until = selection.until
    self.range = range
    let counter = CountingSource(source)
    var recorded = try RecordedHistory(counter, in: range)
    recorded.isPlayed = selection.contains
    self.recorded = recorded
    count = counter.count
    let last = counter.last
    gaps = source.gaps.filter { $0.last >= range.first && $0.first <= last }
  }

  /// The snapshot to begin from; nil to begin with the journal, from empty states.
  private static func base(of source: any JournalSource, first: UInt64, since: Timestamp?) -> JournalSnapshot? {
    let snapshots = source.snapshots
    if let since, let before = snapshots.last(where: { $0.at <= since }) { return before }
    return first <= 1 ? nil : snapshots.first
  }

  /// Plays the range on both sides.
  ///
  /// - Parameters:
  ///   - rules: the rules of both sides, with those for what comes before the range.
  ///   - lua: the calling thread's worker.
  ///   - configuration: the limits of both.
  ///   - goesOn: asked now and then with how many entries were played; false ends the backtest.
  ///   - onSides: called with the sides before the first entry.
  ///   - before: called before each entry that is compared.
  /// - Returns: whether all was played.
  /// - Throws: when the journal or a store can't be read.
  package func play(
    _ rules: Sides.Rules, lua: LuaWorker, configuration: Configuration = Configuration(),
    goesOn: (_ played: Int) -> Bool, onSides: (Sides) -> Void,
    before: (JournalEntry, Sides) throws(RequestError) -> Void = { _, _ in }
  ) throws(RequestError) -> Bool {
    var result: Result<Bool, RequestError> = .success(true)
    do throws(StoreError) {
      let (first, second) = (try copy("baseline"), try copy("candidate"))
      let stores = (try RocksStore(path: first.folder), try RocksStore(path: second.folder))
      do throws(RequestError) {
        let sides = try Sides(
          rules, lua: lua, stores: (stores.0, stores.1), configuration: configuration, recorded: recorded,
          events: count)
        onSides(sides)
        result = .success(try play(sides, goesOn, before))
      } catch { result = .failure(error) }
      try stores.0.close()
      try stores.1.close()
    } catch { throw error.requestError }
    return try result.get()
  }

  /// A copy of the snapshot that a side begins from.
  private func copy(_ side: String) throws(StoreError) -> StoreCopy {
    try StoreCopy(of: snapshot?.path, in: temporary, name: "\(side)-\(getpid())")
  }

  private func play(
    _ sides: Sides, _ goesOn: (_ played: Int) -> Bool,
    _ before: (JournalEntry, Sides) throws(RequestError) -> Void
  ) throws(RequestError) -> Bool {
    var failure: RequestError?
    var missing = gaps[...]
    var (played, isWhole) = (0, true)
    var end = selection.until
    do throws(StoreError) {
      try source.forEach(in: range) { entry in
        if played & 255 == 0, !goesOn(played) {
          isWhole = false
          return false
        }
        played += 1
        while let gap = missing.first, gap.last < entry.sequence {
          sides.comparison.noteGap()
          missing.removeFirst()
        }
        guard entry.origin == .rules || selection.contains(entry.subject) else { return true }
        if selection.until == nil { end = entry.at }
        do throws(RequestError) {
          if let since = selection.since, entry.at < since {
            try sides.warmUp(entry)
          } else {
            try before(entry, sides)
            try sides.play(entry, isRecorded: true)
          }
          return true
        } catch {
          failure = error
          return false
        }
      }
    } catch { throw error.requestError }
    if let failure { throw failure }
    if isWhole, let end { try sides.finish(at: end) }
    return isWhole
  }
}

/// A journal whose entries are counted while another reads them.
private final class CountingSource: JournalSource, @unchecked Sendable {  // used by one thread
  private let source: any JournalSource
  private(set) var count = 0
  private(set) var last: UInt64 = 0

  init(_ source: any JournalSource) { self.source = source }

  func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    try source.forEach(in: range) { entry in
      count += 1
      last = max(last, entry.sequence)
      return body(entry)
    }
  }

  var gaps: [JournalGap] { source.gaps }
  var snapshots: [JournalSnapshot] { source.snapshots }
}
