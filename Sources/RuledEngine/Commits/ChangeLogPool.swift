import Synchronization

/// Logs that nobody reads any longer, to be reused: the kernel clears the pages of newly allocated large ones each time.
package final class ChangeLogPool: Sendable {
  /// How many it holds at most.
  private static let most = 16
  /// How many bytes a log may have to be reused.
  private static let mostBytes = 1 << 20

  private let spare = Mutex<[ChangeLog]>([])

  package init() {}

  /// A log without changes.
  func take() -> ChangeLog { spare.withLock { $0.popLast() } ?? ChangeLog() }

  /// Keeps a log for reuse, unless others refer to it too.
  package func giveBack(_ log: consuming ChangeLog) {
    guard isKnownUniquelyReferenced(&log), log.bytes.capacity <= Self.mostBytes else { return }
    log.removeAll()
    spare.withLock { [log] spare in
      if spare.count < Self.most { spare.append(log) }
    }
  }
}
