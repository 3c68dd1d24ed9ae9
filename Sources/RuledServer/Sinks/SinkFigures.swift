package import RuledCore
import Synchronization

/// How a sink fares, since the start; one thread counts, all may read.
package final class SinkFigures: Sendable {
  private let deliveredCount = Atomic<Int>(0)
  private let failedCount = Atomic<Int>(0)
  private let expiredCount = Atomic<Int>(0)
  private let retriedCount = Atomic<Int>(0)
  private let waitingCount = Atomic<Int>(0)
  private let unreadableCount = Atomic<Int>(0)

  /// A sink that has done nothing yet.
  init() {}

  /// Effects that the receiver took.
  package var delivered: Int { deliveredCount.load(ordering: .relaxed) }
  /// Effects that were given up, as the receiver refused them.
  package var failed: Int { failedCount.load(ordering: .relaxed) }
  /// Effects that their handler let expire.
  package var expired: Int { expiredCount.load(ordering: .relaxed) }
  /// Tries that failed and are repeated.
  package var retried: Int { retriedCount.load(ordering: .relaxed) }
  /// Effects that wait, about.
  package var waiting: Int { waitingCount.load(ordering: .relaxed) }

  /// Those of them that can't be read at present, each of which holds up its subject's later ones.
  package var unreadable: Int { unreadableCount.load(ordering: .relaxed) }

  /// The figures as `health` shows them.
  package var json: JSONValue {
    .object([
      "delivered": .integer(Int64(delivered)), "failed": .integer(Int64(failed)), "expired": .integer(Int64(expired)),
      "retried": .integer(Int64(retried)), "waiting": .integer(Int64(waiting)),
      "unreadable": .integer(Int64(unreadable)),
    ])
  }

  func countDelivered(_ count: Int = 1) { deliveredCount.wrappingAdd(count, ordering: .relaxed) }
  func countFailed() { failedCount.wrappingAdd(1, ordering: .relaxed) }
  func countExpired() { expiredCount.wrappingAdd(1, ordering: .relaxed) }
  func countRetried() { retriedCount.wrappingAdd(1, ordering: .relaxed) }
  func cannotRead(_ count: Int) { unreadableCount.store(count, ordering: .relaxed) }
  func wait(_ count: Int) { waitingCount.store(max(count, 0), ordering: .relaxed) }
}
