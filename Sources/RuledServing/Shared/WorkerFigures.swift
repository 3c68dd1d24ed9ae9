import RuledCore
import RuledThreads
import Synchronization

/// One worker's counts for the metrics.
///
/// Only that worker writes. It counts in memory of its own, and publishes here once per tick and once per commit, never per event. Counts from
/// elsewhere are added.
final class WorkerFigures: Sendable {
  /// The events that clients sent to its subjects, repeats and dry runs included.
  let events = Atomic<Int>(0)
  /// The number of them that repeated a remembered event.
  let duplicates = Atomic<Int>(0)
  /// The number of those with another type or other data than the first one.
  let differences = Atomic<Int>(0)
  let queries = Atomic<Int>(0)
  /// The number of its subjects in the cache.
  let hotSubjects = Atomic<Int>(0)
  let hotBytes = Atomic<Int>(0)
  let cacheHits = Atomic<Int>(0)
  let cacheMisses = Atomic<Int>(0)
  /// The number of subjects whose messages can't be applied for now.
  let delayedSubjects = Atomic<Int>(0)
  /// Whether messages can't be read from the store for now.
  let failsToRead = Atomic<Bool>(false)
  /// Both sides' decisions in the last rollout.
  let rollout = Shared(RolloutCounts())
  private let results = Mutex(CommitFigures())
  private let refusals = Mutex<[RequestError.Code: Int]>([:])

  var commits: CommitFigures { results.withLock { $0 } }

  func noteCommit(of submission: Submission, at now: UInt64) {
    results.withLock { results in
      results.events.observe(UInt64(submission.batch.changes.count))
      results.bytes.observe(UInt64(submission.batch.writes.byteCount))
      results.observe(submission.starts, at: now)
    }
  }

  /// Counts events that were answered without a commit.
  func noteAnswers(to starts: [EventStarts], at now: UInt64) { results.withLock { $0.observe(starts, at: now) } }

  func noteLostCommit() { results.withLock { $0.lost += 1 } }

  var errors: [RequestError.Code: Int] { refusals.withLock { $0 } }

  func noteRefusal(_ code: RequestError.Code) { refusals.withLock { $0[code, default: 0] += 1 } }
}

/// The commits of a worker, and the latency of their events.
struct CommitFigures: Sendable {
  /// The changes of subjects in each durable commit.
  var events = BucketHistogram(bounds: BucketHistogram.numbers)
  /// The bytes that each durable commit writes.
  var bytes = BucketHistogram(bounds: BucketHistogram.sizes)
  /// How long clients' events took, from the start of their tick until they could be answered, in nanoseconds.
  var latency = BucketHistogram(bounds: BucketHistogram.latencies)
  var lost = 0

  /// Records the latency of events that can be answered now.
  mutating func observe(_ starts: [EventStarts], at now: UInt64) {
    for start in starts { latency.observe(now &- start.time, times: start.events) }
  }

  mutating func add(_ other: CommitFigures) {
    events.add(other.events)
    bytes.add(other.bytes)
    latency.add(other.latency)
    lost += other.lost
  }
}

final class TimerFigures: Sendable {
  /// The number of due timers given to their workers.
  let fired = Atomic<Int>(0)
  /// The number of timers that can't fire at present.
  let retried = Atomic<Int>(0)
  /// When the first timer is due, in microseconds; `.max` when there is none.
  let earliest = Atomic<Int64>(.max)
}
