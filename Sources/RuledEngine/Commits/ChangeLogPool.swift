import Synchronization

/// Logs of changes that nobody reads any longer, to be filled again: the larger ones are memory that the system would have to clear each time.
package final class ChangeLogPool: Sendable {
  /// How many are kept.
  private static let most = 16
  /// How many bytes one may have that is kept.
  private static let mostBytes = 1 << 20

  private let spare = Mutex<[ChangeLog]>([])

  /// A pool of none.
  package init() {}

  /// A log without changes.
  func take() -> ChangeLog { spare.withLock { $0.popLast() } ?? ChangeLog() }

  /// Takes a log back unless others hold it, too.
  package func giveBack(_ log: consuming ChangeLog) {
    guard isKnownUniquelyReferenced(&log), log.bytes.capacity <= Self.mostBytes else { return }
    log.removeAll()
    spare.withLock { [log] spare in
      if spare.count < Self.most { spare.append(log) }
    }
  }
}
