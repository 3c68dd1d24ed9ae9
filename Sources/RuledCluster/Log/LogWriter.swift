import Glibc
internal import RuledCore
import RuledStore
import Synchronization

/// Writes the log of commits as its owner; one thread at a time uses it, except for `stop` and `setProblem`.
package final class LogWriter: @unchecked Sendable {  // members for any thread are atomic or behind a lock
  /// The delays between attempts to resolve the outcome of a commit.
  private static let backoff = Backoff(first: 20, longest: 500)

  private let node: NodeIdentity
  private let settings: ClusterSettings
  private let client: LogClient
  private var ownership: Ownership?
  private let isStopping = Atomic(false)
  private let problem = Mutex<StoreError?>(nil)
  private let counts: ClusterCounts
  private let confirmed = Atomic(Int.min / 2)

  /// A writer for `node`, which owns nothing yet.
  init(_ settings: ClusterSettings, node: NodeIdentity, counts: ClusterCounts = ClusterCounts()) {
    self.settings = settings
    self.node = node
    self.counts = counts
    client = LogClient(settings, counts: counts)
  }

  /// The end of the log; nil while the node does not own the log, or does not know whether it does.
  var end: LogPosition? { ownership?.end }

  /// The epoch under which the node writes; nil while it does not own the log.
  package var epoch: Int64? { ownership?.epoch }

  /// When the last statement began that the standbys have confirmed, as `MonotonicClock.millisecondsWithSuspend`; from any thread.
  var confirmedAt: Int { confirmed.load(ordering: .relaxed) }

  /// Notes that the standbys have confirmed a statement that began at a time; from any thread.
  func noteConfirmed(at start: Int) { confirmed.max(start, ordering: .relaxed) }

  /// Ends the attempts to resolve the outcome of a commit, from any thread.
  func stop() { isStopping.store(true, ordering: .relaxed) }

  /// Makes appends fail with `error` from now on, or succeed again if it is nil; from any thread.
  func setProblem(_ error: StoreError?) { problem.withLock { $0 = error } }

  /// Makes the node the owner unless another node became it since `head` was read; returns whether the node is the owner.
  ///
  /// After an error the node may be the owner. The next `head` shows that, and the node takes over from itself.
  func takeOver(from head: LogHead) throws(StoreError) -> Bool {
    let start = MonotonicClock.millisecondsWithSuspend
    ownership = try client.takeOver(for: node, from: head)
    if ownership != nil { noteConfirmed(at: start) }
    return ownership != nil
  }

  /// Appends a batch, and waits until the database and its standbys have it.
  ///
  /// If the answer does not come, the node first raises its epoch: then no statement still on its way takes effect, and the end of the
  /// log tells whether the batch is there. If it is not, it is sent again, until `ClusterSettings.commitTimeout` has passed.
  ///
  /// Throws `fenced` when another node owns the log. An error with an unknown outcome ends the ownership. After any other error the batch
  /// is not in the log and never will be.
  func append(_ batch: LogBatch) throws(StoreError) {
    let start = MonotonicClock.nanoseconds
    do throws(StoreError) { try write(batch) } catch {
      counts.countFailure(isDoubtful: error.isOutcomeUnknown)
      throw error
    }
    counts.count(nanoseconds: MonotonicClock.nanoseconds - start)
  }

  private func write(_ batch: LogBatch) throws(StoreError) {
    guard let first = ownership else { throw StoreError(.fenced, "this node does not own the log of commits") }
    if let error = problem.withLock({ $0 }) { throw error }
    let end = MonotonicClock.milliseconds + settings.commitTimeout
    var current = first
    var failures = 0
    while true {
      let next = current.end.following(batch.bytes, epoch: current.epoch)
      var failure: StoreError
      let start = MonotonicClock.millisecondsWithSuspend
      do throws(StoreError) {
        guard try client.append(batch.bytes, from: current, to: next, milliseconds: Self.left(until: end)) else {
          ownership = nil
          throw StoreError(.fenced, "another node has taken the log of commits over")
        }
        ownership?.end = next
        noteConfirmed(at: start)
        return
      } catch { failure = error }
      if failure.code == .fenced { throw failure }
      // Each iteration resolves the outcome of the attempt, unless its own answer does not come either.
      ownership = nil
      var resolved: Ownership?
      while resolved == nil {
        do throws(StoreError) {
          resolved = try resolve(next)
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
      guard let resolved else { continue }
      ownership = resolved
      if resolved.end == next { return }
      guard resolved.end == current.end else {
        ownership = nil
        throw Self.unknown(StoreError(.diverged, "the log ends where this node, its owner, has not written"))
      }
      current = resolved
      guard MonotonicClock.milliseconds < end, !isStopping.load(ordering: .relaxed) else { throw failure }
    }
  }

  /// Raises the epoch and finds the end of the log, after an attempt to write up to `next`.
  private func resolve(_ next: LogPosition) throws(StoreError) -> Ownership {
    if let resolved = try client.raiseEpoch(for: node) { return resolved }
    var error = StoreError(.fenced, "another node has taken the log of commits over")
    // If the batch is in the log, the new owner has played it back.
    error.isOutcomeUnknown = try client.digest(of: next.sequence) == next.digest
    throw error
  }

  /// The error of writes that may be in the log all the same.
  static func unknown(_ cause: StoreError) -> StoreError {
    var error = cause
    error.isOutcomeUnknown = true
    return error
  }

  private static func left(until end: Int) -> Int { max(1, end - MonotonicClock.milliseconds) }
}
