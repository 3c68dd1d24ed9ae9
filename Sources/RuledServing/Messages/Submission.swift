import RuledCore
import RuledEngine
import Synchronization

/// A worker's work for the commit pipeline: a commit batch, and the replies that leave once it is durable.
///
/// While it collects, the worker's evaluator fills its batch. Once durable it is only read: each worker with connections that wait for some of its
/// replies sends these, and the last one recycles it.
final class Submission: @unchecked Sendable {  // its worker's until it is submitted, read-only once it is durable
  private(set) var batch: CommitBatch
  let replyBytes = ByteBuffer(capacity: 64 << 10)
  private(set) var replies: [PendingReply] = []
  /// The workers whose connections wait for a reply, but for replies that wait for a cascade too.
  private(set) var recipients = WorkerSet()
  private(set) var starts: [EventStarts] = []
  /// The result that its worker waits for, from the thread whose sync decided it; guarded by the pipeline's lock.
  var result: CommitResult?
  private let readers = Atomic<Int>(1)

  /// The most bytes that a submission may take and be recycled.
  private static let mostBytes = 1 << 20

  init(_ batch: CommitBatch) { self.batch = batch }

  var isEmpty: Bool { batch.isEmpty && replies.isEmpty && batch.awaited.isEmpty }

  func addReply(_ reply: PendingReply) {
    replies.append(reply)
    if reply.cascade == nil, case .worker(let worker) = reply.target.receiver { recipients.insert(worker) }
  }

  /// Notes that one of the clients' events belongs to it, which began at a time.
  func addEvent(begunAt time: UInt64) {
    if let last = starts.indices.last, starts[last].time == time {
      starts[last].events += 1
    } else {
      starts.append(EventStarts(time: time, events: 1))
    }
  }

  /// Removes the times of events that need no commit.
  func removeStarts() { starts.removeAll(keepingCapacity: true) }

  func bytes(of reply: PendingReply) -> ByteView { replyBytes.bytes.extracting(reply.range) }

  /// The id of the request that a reply of this submission answers; empty for a notification.
  func id(of reply: PendingReply) -> ByteView { replyBytes.bytes.extracting(reply.id) }

  /// Sets the number of workers that will call `removeReader`.
  func setReaders(_ count: Int) { readers.store(count, ordering: .relaxed) }

  /// Ends one worker's use; true for the last, which recycles it.
  func removeReader() -> Bool { readers.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  /// Makes it an empty submission of `batch`, with the memory that it has; false if that is too much to keep.
  func reuse(for batch: CommitBatch) -> Bool {
    guard replyBytes.capacity <= Self.mostBytes else { return false }
    self.batch = batch
    replyBytes.removeAll()
    replies.removeAll(keepingCapacity: true)
    recipients = WorkerSet()
    removeStarts()
    result = nil
    readers.store(1, ordering: .relaxed)
    return true
  }
}

/// A reply that leaves once a commit batch is durable.
struct PendingReply: Sendable {
  let target: ReplyTarget
  /// Which part of the submission's reply bytes it is.
  let range: Range<Int>
  /// Which part of the submission's reply bytes is the request's id.
  let id: Range<Int>
  /// The cascade that it waits for too, and the key under which its worker keeps it meanwhile.
  let cascade: (cascade: Cascade, key: UInt64)?
  /// Whether it shows committed values, and writes nothing itself.
  let isRead: Bool
}

/// The number of a submission's events that began at one time.
struct EventStarts: Sendable {
  /// Nanoseconds of the monotonic clock.
  let time: UInt64
  var events: UInt64
}

/// A set of workers by index; the 64th and all later ones share one bit, so that `contains` may be true for others, too.
struct WorkerSet: Sendable {
  private var bits: UInt64 = 0

  mutating func insert(_ worker: Int) { bits |= 1 << UInt64(min(worker, 63)) }

  mutating func formUnion(_ other: WorkerSet) { bits |= other.bits }

  /// Whether a worker may be in it.
  func contains(_ worker: Int) -> Bool { bits & 1 << UInt64(min(worker, 63)) != 0 }
}

enum CommitResult: Sendable {
  /// It is committed, and as durable as is configured.
  case durable
  /// Nothing of it is committed, nor will be.
  case lost
  /// The store could not find out: a restart may find it, or not.
  case unknown
}
