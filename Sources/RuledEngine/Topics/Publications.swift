import RuledCore
import Synchronization

/// The publications under way, for all threads: their publishers, and the cascades that wait for them.
package final class Publications: Sendable {
  private struct Contents {
    /// The number of each subject's publications that are durable and not yet with all members; below zero while their arrival is known before their
    /// commit.
    var publishers: [[UInt8]: Int] = [:]
    /// The cascades that wait for some, by number.
    var cascades: [UInt64: Cascade] = [:]
  }

  private let contents = Mutex(Contents())
  private let hasPublishers = Atomic<Bool>(false)

  /// The number of the last one that an earlier process left in the store; set before anything is evaluated.
  let lastBefore = Atomic<UInt64>(0)

  // MARK: Publishers

  /// Whether a publication of the subject is durable and not yet with all members.
  func isUnderWay(of publisher: ByteView) -> Bool {
    guard hasPublishers.load(ordering: .relaxed) else { return false }
    return contents.withLock { $0.publishers[Array(publisher)] ?? 0 } > 0
  }

  /// Notes that a publication of the subject is durable, or with all members.
  func count(_ publisher: [UInt8], _ change: Int) {
    contents.withLock { contents in
      let count = contents.publishers[publisher, default: 0] + change
      contents.publishers[publisher] = count == 0 ? nil : count
      hasPublishers.store(!contents.publishers.isEmpty, ordering: .relaxed)
    }
  }

  // MARK: Cascades

  func add(_ numbered: [(number: UInt64, cascade: Cascade?)]) {
    for case (let number, let cascade?) in numbered { contents.withLock { $0.cascades[number] = cascade } }
  }

  func remove(_ numbered: [(number: UInt64, cascade: Cascade?)]) {
    for case (let number, .some) in numbered { contents.withLock { $0.cascades[number] = nil } }
  }

  func cascade(of number: UInt64) -> Cascade? { contents.withLock { $0.cascades[number] } }

  func takeCascade(of number: UInt64) -> Cascade? { contents.withLock { $0.cascades.removeValue(forKey: number) } }

  package var areAwaited: Bool { contents.withLock { !$0.cascades.isEmpty } }
}
