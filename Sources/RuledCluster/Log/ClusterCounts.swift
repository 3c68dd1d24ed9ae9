package import RuledCore
import Synchronization

/// A node's counts of its cluster; any thread may count and read.
package final class ClusterCounts: Sendable {
  private let figures = Mutex(Figures())

  package struct Figures: Sendable {
    /// The latency of successful commits in nanoseconds, including the time to resolve unknown outcomes.
    package var commits = BucketHistogram(bounds: BucketHistogram.latencies)
    /// Commits without any effect.
    package var refused = 0
    /// Commits whose outcome is unknown.
    package var doubtful = 0
    /// Connections opened to the database, including those after a failure.
    package var connections = 0
  }

  package var all: Figures { figures.withLock { $0 } }

  func count(nanoseconds: UInt64) { figures.withLock { $0.commits.observe(nanoseconds) } }

  func countFailure(isDoubtful: Bool) { figures.withLock { isDoubtful ? ($0.doubtful += 1) : ($0.refused += 1) } }

  func countConnection() { figures.withLock { $0.connections += 1 } }
}
