import Synchronization

package final class ParkedCounts: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  /// The plugins that have parked events; the name is empty for damaged messages.
  package var all: [String: Int] { counts.withLock { counts in counts.filter { $0.value > 0 } } }

  /// Adds changes that are durable.
  package func add(_ changes: [(plugin: String, change: Int)]) {
    guard !changes.isEmpty else { return }
    counts.withLock { counts in
      for change in changes { counts[change.plugin, default: 0] += change.change }
    }
  }
}
