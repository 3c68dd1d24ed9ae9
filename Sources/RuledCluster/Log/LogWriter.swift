import Glibc
package import RuledCore
package import RuledStore
import Synchronization

/// Writes the log of commits as its owner; one thread at a time calls it, but for `stop` and `forbid`.
package final class LogWriter: @unchecked Sendable {  // what any thread may call is atomic
  /// The delays between attempts to find out what became of a commit.
  private static let backoff = Backoff(first: 20, longest: 500)

  private let node: NodeIdentity
  private let settings: ClusterSettings
  private let client: LogClient
  private var ownership: Ownership?
  private let isStopping = Atomic(false)
  private let obstacle = Mutex<StoreError?>(nil)
  private let counts: ClusterCounts

  /// A writer for `node`, which owns nothing yet.
  package init(_ settings: ClusterSettings, node: NodeIdentity, counts: ClusterCounts = ClusterCounts()) {
    self.settings = settings
    self.node = node
    self.counts = counts
    client = LogClient(settings, counts: counts)
  }

  /// The end of the log; nil while the node does not own it, or does not know whether it does.
  package var end: LogPosition? { ownership?.end }

  /// The epoch under which the node writes; nil while it does not own the log.
  package var epoch: Int64? { ownership?.epoch }

  /// Ends the attempts to find out what became of a commit, from any thread.
  package func stop() { isStopping.store(true, ordering: .relaxed) }

  /// Lets each append fail with `error`, from any thread; with nil no longer.
  func forbid(_ error: StoreError?) { obstacle.withLock { $0 = error } }

  /// Becomes the owner unless somebody has since `head` was read; gives whether it did.
  ///
  /// After an error the node may be the owner: `head` shows that the next time, and the node takes over from itself.
  package func take(from head: LogHead) throws(StoreError) -> Bool {
    ownership = try client.take(for: node, from: head)
    return ownership != nil
  }

  /// Appends a batch, and waits until the database and its standbys have it.
  ///
  /// An answer that does not come is settled before anything else happens: the owner raises its epoch, so that nothing which is still on its way takes
  /// effect, and the end of the log tells whether the batch is there. If it is not, it is sent again, for as long as `ClusterSettings.patience`.
  ///
  /// Throws `fenced` when another node owns the log. An error that says that the outcome is not known ends the ownership; after any other the batch is not
  /// in the log, nor will it be.
  package func append(_ batch: LogBatch) throws(StoreError) {
    let start = MonotonicClock.nanoseconds
    do throws(StoreError) { try write(batch) } catch {
      counts.countFailure(isDoubtful: error.isOutcomeUnknown)
      throw error
    }
    counts.count(nanoseconds: MonotonicClock.nanoseconds - start)
  }

  private func write(_ batch: LogBatch) throws(StoreError) {
    guard let first = ownership else { throw StoreError(.fenced, "this node does not own the log of commits") }
    if let error = obstacle.withLock({ $0 }) { throw error }
    let end = MonotonicClock.milliseconds + settings.patience
    var current = first
    var failures = 0
    while true {
      let next = current.end.following(batch.bytes, epoch: current.epoch)
      var failure: StoreError
      do throws(StoreError) {
        guard try client.append(batch.bytes, from: current, to: next, milliseconds: Self.left(until: end)) else {
          ownership = nil
          throw StoreError(.fenced, "another node has taken the log of commits over")
        }
        ownership = Ownership(epoch: current.epoch, end: next)
        return
      } catch { failure = error }
      if failure.code == .fenced { throw failure }
      // Each turn either settles what became of the attempt, or has no answer again.
      ownership = nil
      var settled: Ownership?
      while settled == nil {
        do throws(StoreError) {
          settled = try settle(next)
          break
        } catch {
          if error.code == .fenced || error.code == .diverged { throw error }
          failure = error
        }
        guard MonotonicClock.milliseconds < end, !isStopping.load(ordering: .relaxed) else {
          throw Self.unknown(failure)
        }
        failures += 1
        usleep(UInt32(Self.backoff.delay(after: failures)) * 1000)
      }
      guard let settled else { continue }
      ownership = settled
      if settled.end == next { return }
      guard settled.end == current.end else {
        ownership = nil
        throw Self.unknown(StoreError(.diverged, "the log ends where this node, its owner, has not written"))
      }
      current = settled
      guard MonotonicClock.milliseconds < end, !isStopping.load(ordering: .relaxed) else { throw failure }
    }
  }

  /// Raises the epoch and finds where the log ends, after an attempt to write up to `next`.
  private func settle(_ next: LogPosition) throws(StoreError) -> Ownership {
    if let settled = try client.settle(for: node) { return settled }
    var error = StoreError(.fenced, "another node has taken the log of commits over")
    // If the batch is there, the new owner has played it back.
    error.isOutcomeUnknown = try client.digest(of: next.sequence) == next.digest
    throw error
  }

  private static func unknown(_ cause: StoreError) -> StoreError {
    var error = cause
    error.isOutcomeUnknown = true
    return error
  }

  private static func left(until end: Int) -> Int { max(1, end - MonotonicClock.milliseconds) }
}

/// What a node counts of its cluster; any thread may count and read.
package final class ClusterCounts: Sendable {
  private let figures = Mutex(Figures())

  /// The counts so far.
  package struct Figures: Sendable {
    /// How long commits took that succeeded, the finding out of what became of them included, in nanoseconds.
    package var commits = BucketHistogram(bounds: BucketHistogram.latencies)
    /// Commits of which nothing was applied.
    package var refused = 0
    /// Commits of which it is not known what became.
    package var doubtful = 0
    /// Connections to the database that were opened, also after one broke.
    package var connections = 0
  }

  /// No counts.
  package init() {}

  /// The counts so far.
  package var all: Figures { figures.withLock { $0 } }

  func count(nanoseconds: UInt64) { figures.withLock { $0.commits.record(nanoseconds) } }

  func countFailure(isDoubtful: Bool) {
    figures.withLock { isDoubtful ? ($0.doubtful += 1) : ($0.refused += 1) }
  }

  func countConnection() { figures.withLock { $0.connections += 1 } }
}
