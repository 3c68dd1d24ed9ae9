import Glibc
package import RuledCore
package import RuledJournal
import RuledLua
package import RuledStore

/// A backtest on a journal: from the states of the snapshot before the range, through all entries since.
package final class JournalBacktest {
  package typealias Found = (comparison: Comparison, isWhole: Bool)

  /// The parts of the history that are missing between the beginning of the range and its end, or can't be replayed.
  package let gaps: [JournalGap]
  /// Why nothing can be played of a range that has events, and what to do about it; nil if something can be.
  package let problem: String?
  /// How many entries there are to play.
  package let count: Int
  private let source: any JournalSource
  private let since: Timestamp?
  private let until: Timestamp?
  /// From the snapshot to the last event until `until`; a clock that went back gives some between later times.
  private let range: JournalRange
  private let contains: @Sendable (_ subject: String) -> Bool
  private let snapshot: JournalSnapshot?
  /// The messages and timers of the record; nil if all entries are events of clients.
  private let recorded: RecordedHistory?
  /// The limits of both sides.
  private let configuration: Configuration
  private let temporary: String
  /// Whether the record was read to its end.
  private let isRead: Bool

  /// A backtest that has not begun: reads the messages and timers of the record.
  ///
  /// Events before `since` are played, and not compared; nil begins with the journal. Events after `until` are not compared, and not played but for
  /// those in whose midst the clock went back. `contains` tells whether a subject's events are played, `configuration` has the limits of both sides,
  /// and the folder `temporary` gets their states. `shouldContinue` is called now and then with the number of entries that were read; false ends the
  /// backtest. Throws when the journal can't be read.
  package init(
    _ source: any JournalSource, since: Timestamp? = nil, until: Timestamp? = nil,
    configuration: Configuration = Configuration(), temporary: String,
    contains: @escaping @Sendable (_ subject: String) -> Bool = { _ in true },
    shouldContinue: (_ read: Int) -> Bool = { _ in true }
  ) throws(StoreError) {
    self.source = source
    self.since = since
    self.until = until
    self.contains = contains
    self.configuration = configuration
    self.temporary = temporary
    let base = try Self.base(of: source, since: since)
    snapshot = base
    var (count, last, isRead, hasEvents) = (0, UInt64(0), true, false)
    var range = JournalRange()
    range.first = base.map { $0.sequence + 1 } ?? (source.first > 1 ? .max : 0)
    if let until {
      var wanted = range, read = 0
      wanted.until = until
      range.last = 0
      try source.forEach(in: wanted) { entry in
        range.last = entry.sequence
        read += 1
        if read & 1023 == 0 { isRead = shouldContinue(read) }
        return isRead
      }
    }
    self.range = range
    recorded = try RecordedHistory(source, in: range, isPlayed: contains) { entry in
      count += 1
      last = max(last, entry.sequence)
      hasEvents = hasEvents || entry.isEvent
      if count & 1023 == 0 { isRead = shouldContinue(count) }
      return isRead
    }
    (self.count, self.isRead) = (count, isRead)
    let gaps = source.gaps.filter { $0.last >= range.first && $0.first <= last }
    let before = try Self.withoutBase(in: source, range, since: since, until: until)
    self.gaps = (before.map { [$0] } ?? []) + gaps
    // Rules that came into force decide nothing.
    guard !hasEvents, isRead else {
      problem = nil
      return
    }
    let lost = if let before { before } else { try Self.gone(from: source, until: until) }
    problem = lost.map { Self.problem($0, base) }
  }

  /// A backtest of about `count` events that clients sent, from empty states; `source` is not read before they are played.
  package init(
    events source: any JournalSource, count: Int, temporary: String,
    contains: @escaping @Sendable (_ subject: String) -> Bool = { _ in true }
  ) {
    self.source = source
    self.count = count
    self.temporary = temporary
    self.contains = contains
    configuration = Configuration()
    (since, until, snapshot, recorded, problem, gaps) = (nil, nil, nil, nil, nil, [])
    (range, isRead) = (JournalRange(), true)
  }

  /// The snapshot to begin from; nil to begin with the journal, from empty states.
  private static func base(
    of source: any JournalSource, since: Timestamp?
  ) throws(StoreError) -> JournalSnapshot? {
    let bases = source.bases
    if let since {
      var range = JournalRange()
      range.since = since
      let begin = try first(of: source, in: range) { $0.isEvent }?.sequence ?? .max
      if let before = bases.last(where: { $0.sequence < begin }) { return before }
    }
    return source.first <= 1 ? nil : bases.first
  }

  /// The entries from a time on before those that are `played`, which can't be replayed.
  private static func withoutBase(
    in source: any JournalSource, _ played: JournalRange, since: Timestamp?, until: Timestamp?
  ) throws(StoreError) -> JournalGap? {
    guard played.first > 0, var gap = source.withoutBase(through: played.first - 1) else { return nil }
    var range = JournalRange()
    range.last = gap.last
    (range.since, range.until) = (since, until)
    guard let first = try first(of: source, in: range) else { return nil }
    gap.first = first.sequence
    return gap
  }

  /// The removed entries before the first one that is there, if the range ends before it.
  private static func gone(from source: any JournalSource, until: Timestamp?) throws(StoreError) -> JournalGap? {
    guard source.first > 1, let until, let begin = try first(of: source, in: JournalRange())?.at, until < begin else {
      return nil
    }
    return JournalGap(
      first: 1, last: source.first - 1, reason: "the journal has removed what was before \(begin.rfc3339)")
  }

  private static func first(
    of source: any JournalSource, in range: JournalRange, where isWanted: (JournalEntry) -> Bool = { _ in true }
  ) throws(StoreError) -> JournalEntry? {
    var first: JournalEntry?
    try source.forEach(in: range) { entry in
      if isWanted(entry) { first = entry }
      return first == nil
    }
    return first
  }

  private static func problem(_ gap: JournalGap, _ base: JournalSnapshot?) -> String {
    let begin =
      base.map { "the earliest snapshot is of \($0.at.rfc3339)" } ?? "the journal has no snapshot to begin from"
    return "nothing can be replayed of this range: \(gap.reason); \(begin), and what happens later can be replayed. "
      + "To look back further, raise journal.max_gib or journal.keep, or lower journal.snapshot"
  }

  /// Plays the range on both sides, on `threads` threads at once at most.
  ///
  /// `shouldContinue` is called now and then with the number of entries that were played, which may be played twice; after false, the comparison is
  /// of the entries until then. Throws when the journal or a store can't be read, rules don't load, or there is no event to compare.
  package func play(
    _ rules: @escaping Sides.Load, threads: Int, shouldContinue: (_ played: Int) -> Bool
  ) throws(RequestError) -> Found {
    if threads > 1, let found = try attempt(rules, threads, shouldContinue) { return found }
    return try attempt(rules, 1, shouldContinue) ?? (Comparison(), false)
  }

  private func attempt(
    _ rules: @escaping Sides.Load, _ threads: Int, _ shouldContinue: (_ played: Int) -> Bool
  ) throws(RequestError) -> Found? {
    try withSetup(rules) { (setup) throws(RequestError) in
      let replay = try Replay(setup, threads: threads)
      let (isWhole, end) = try forEach(shouldContinue, noteGap: replay.noteGap) {
        (entry, isCompared) throws(RequestError) in
        try replay.play(entry, isCompared: isCompared)
      }
      return try replay.finish(at: isWhole ? end : nil).map { ($0, isWhole) }
    }
  }

  /// Plays the range as `play` does, in order on this thread, and calls `before` before each entry that is compared.
  package func playInOrder(
    _ rules: @escaping Sides.Load, shouldContinue: (_ played: Int) -> Bool,
    before: (JournalEntry, Sides) throws(RequestError) -> Void
  ) throws(RequestError) {
    try withSetup(rules) { (setup) throws(RequestError) in
      let sides = try Sides(setup, lua: LuaWorker())
      _ = try forEach(shouldContinue, noteGap: sides.noteGap) { (entry, isCompared) throws(RequestError) in
        if isCompared { try before(entry, sides) }
        try sides.play(entry, isCompared: isCompared)
        return true
      }
    }
  }

  private static let sides = ["baseline", "candidate"]

  /// Removes the states that killed processes left in a folder `temporary` of backtests.
  package static func removeAbandoned(in temporary: String) { StoreCopy.removeAbandoned(sides, in: temporary) }

  /// Calls `body` with the stores of both sides in a folder that is removed at the end: state that does not fit into memory is there.
  private func withSetup<Result>(
    _ rules: @escaping Sides.Load, _ body: (Sides.Setup) throws(RequestError) -> Result
  ) throws(RequestError) -> Result {
    let copies: [StoreCopy], stores: [RocksStore]
    do throws(StoreError) {
      copies = try Self.sides.map { name throws(StoreError) in
        try StoreCopy(of: snapshot?.path, in: temporary, name: "\(name)-\(getpid())")
      }
      stores = try copies.map { copy throws(StoreError) in try RocksStore(temporary: copy.folder) }
    } catch { throw error.requestError }
    defer {
      for store in stores { store.abandon() }
      withExtendedLifetime(copies) {}
    }
    return try body(
      Sides.Setup(
        rules: rules, configuration: configuration, stores: (stores[0], stores[1]), recorded: recorded, events: count))
  }

  /// Calls `play` with each entry to be played and whether it is compared, until it or `shouldContinue` returns false.
  ///
  /// - Returns: whether all entries were played, and when the range ends.
  private func forEach(
    _ shouldContinue: (_ played: Int) -> Bool, noteGap: () -> Void,
    _ play: (_ entry: JournalEntry, _ isCompared: Bool) throws(RequestError) -> Bool
  ) throws(RequestError) -> (isWhole: Bool, end: Timestamp?) {
    guard isRead else { return (false, nil) }
    var failure: RequestError?
    var missing = gaps.filter { !$0.isListed }[...]
    var (played, isWhole) = (0, true)
    var end = until
    // Rules may come into force before the clock is set back: the range begins with an event.
    var hasBegun = since == nil
    var isEmpty = true
    do throws(StoreError) {
      try source.forEach(in: range) { entry in
        if played & 255 == 0, !shouldContinue(played) {
          isWhole = false
          return false
        }
        played += 1
        while let gap = missing.first, gap.last < entry.sequence {
          noteGap()
          missing.removeFirst()
        }
        guard entry.origin == .rules || contains(entry.subject) else { return true }
        if until == nil { end = recorded == nil ? max(end ?? entry.at, entry.at) : entry.at }
        let isInRange = since.map { entry.at >= $0 } ?? true && until.map { entry.at <= $0 } ?? true
        isEmpty = isEmpty && !(isInRange && entry.isEvent)
        hasBegun = hasBegun || !isEmpty
        do throws(RequestError) {
          return try play(entry, hasBegun && isInRange)
        } catch {
          failure = error
          return false
        }
      }
    } catch { throw RequestError(.unavailable, error.description) }
    if let failure { throw failure }
    if isWhole, isEmpty {
      throw RequestError(
        .unavailable,
        "nothing can be replayed: there is no event of the chosen subjects in this range; begin earlier, end later, or choose other subjects"
      )
    }
    return (isWhole, end)
  }
}
