import RuledCore
import RuledEngine
import RuledStore

/// The appended submissions that are not durable yet, in their order, and the values of the daemon's own keys once they are.
struct CommitQueue {
  /// A submission whose result is not known yet.
  struct Pending {
    let submission: Submission
    let worker: Int
    /// The number that the store gave it; nil for a refused one, which only waits for the results of earlier ones.
    let number: UInt64?
    /// Whether its worker waits for it, and syncs itself.
    let isAwaited: Bool
    /// The counters that it changes, as they were before.
    fileprivate let replaced: [StoredCounters.Replaced]
  }

  private var pending: [Pending] = []
  /// The counters once all pending submissions are durable.
  private var counters: StoredCounters
  /// The number of changes for watchers in the pending submissions.
  private var changes = 0
  private let key = ByteBuffer(capacity: 256)
  private let value = ByteBuffer(capacity: 64)

  init(counters: StoredCounters = StoredCounters()) { self.counters = counters }

  /// The number of submissions that no worker waits for.
  var waitingSubmissions: Int { pending.count { !$0.isAwaited } }

  var waitingReplies: Int { pending.reduce(0) { $1.isAwaited ? $0 : $0 + $1.submission.replies.count } }

  /// Adds a submission if `write` appends its writes and gives their number; false when it gives nil.
  ///
  /// The writes include the counters that it changes, and the sequence of its last change for watchers; the last one that they have was `sequence`.
  mutating func admit(
    _ submission: Submission, of worker: Int, isAwaited: Bool, after sequence: UInt64,
    _ write: (WriteSet) throws(StoreError) -> UInt64?
  ) throws(StoreError) -> Bool {
    let batch = submission.batch
    let mark = batch.writes.mark
    let replaced = counters.count(batch)
    if !batch.changes.isEmpty {
      let last = sequence + UInt64(changes + batch.changes.count)
      WatchSequence.put(last, into: batch.writes, key: key, value: value)
    }
    do throws(StoreError) {
      guard let number = try write(batch.writes) else {
        counters.restore(replaced)
        batch.writes.truncate(to: mark)
        return false
      }
      changes += batch.changes.count
      pending.append(
        Pending(submission: submission, worker: worker, number: number, isAwaited: isAwaited, replaced: replaced))
      return true
    } catch {
      counters.restore(replaced)
      throw error
    }
  }

  mutating func keepRefused(_ submission: Submission, of worker: Int, isAwaited: Bool) {
    pending.append(Pending(submission: submission, worker: worker, number: nil, isAwaited: isAwaited, replaced: []))
  }

  /// Removes the submissions up to that number, and the refused ones right behind them.
  mutating func removeDurable(through number: UInt64) -> [Pending] {
    let end = pending.firstIndex { $0.number.map { $0 > number } ?? false } ?? pending.count
    let removed = Array(pending[..<end])
    pending.removeFirst(end)
    for one in removed where one.number != nil { changes -= one.submission.batch.changes.count }
    return removed
  }

  /// Removes all submissions, none of which is committed.
  mutating func removeLost() -> [Pending] {
    let lost = pending
    for one in lost.reversed() { counters.restore(one.replaced) }
    pending.removeAll()
    changes = 0
    return lost
  }
}
