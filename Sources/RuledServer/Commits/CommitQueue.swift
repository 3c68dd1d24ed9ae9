import RuledCore
import RuledEngine
import RuledStore
import Synchronization

/// The submissions that were appended to the store, in that order, and are not durable yet; and the values of the daemon's own keys once they are.
struct CommitQueue {
  /// A submission whose result is not known yet.
  struct Entry {
    let submission: Submission
    let worker: Int
    /// The number that the store gave it; nil when it was refused, and only waits for the results of those before it.
    let number: UInt64?
    /// Whether its worker waits for it, and syncs itself.
    let isAwaited: Bool
    /// The counters that it changes, as they were before.
    fileprivate let replaced: [Replaced]
  }

  /// A counter before a submission changed it.
  fileprivate struct Replaced {
    let key: CounterTable.Key
    let value: CounterValue?
    /// The keys in the store that the submission removes.
    let removed: [[UInt8]]
  }

  private var entries: [Entry] = []
  /// The counters' values once all entries are durable.
  private var counters: [CounterTable.Key: CounterValue] = [:]
  /// The counters in the store at the start.
  private var stored: CounterTable.Stored
  /// How many changes for watchers the entries hold.
  private var changes = 0
  private let key = ByteBuffer(capacity: 256)
  private let value = ByteBuffer(capacity: 64)

  /// An empty queue, which adds to the counters that the store holds.
  ///
  /// A counter whose stored value could not be read is counted in memory alone: a write would destroy what may still be repaired.
  init(counters stored: CounterTable.Stored = CounterTable.Stored()) {
    self.stored = stored
    counters = stored.values
  }

  /// How many submissions no worker waits for.
  var waitingSubmissions: Int { entries.count { !$0.isAwaited } }

  /// How many replies those have.
  var waitingReplies: Int { entries.reduce(0) { $1.isAwaited ? $0 : $0 + $1.submission.replies.count } }

  /// Adds a submission if `write` appends its writes and gives their number; false when it gives nil.
  ///
  /// The writes include the counters that it changes, and the sequence of its last change for watchers; the last one published was `sequence`.
  mutating func append(
    _ submission: Submission, of worker: Int, isAwaited: Bool, after sequence: UInt64,
    _ write: (WriteSet) throws(StoreError) -> UInt64?
  ) throws(StoreError) -> Bool {
    let batch = submission.batch
    let mark = batch.writes.mark
    let replaced = count(batch)
    if !batch.changes.isEmpty {
      let last = sequence + UInt64(changes + batch.changes.count)
      WatchSequence.write(last, to: batch.writes, key: key, value: value)
    }
    do throws(StoreError) {
      guard let number = try write(batch.writes) else {
        restore(replaced)
        batch.writes.truncate(to: mark)
        return false
      }
      changes += batch.changes.count
      entries.append(
        Entry(submission: submission, worker: worker, number: number, isAwaited: isAwaited, replaced: replaced))
      return true
    } catch {
      restore(replaced)
      throw error
    }
  }

  /// Adds a submission that was refused.
  mutating func refuse(_ submission: Submission, of worker: Int, isAwaited: Bool) {
    entries.append(Entry(submission: submission, worker: worker, number: nil, isAwaited: isAwaited, replaced: []))
  }

  /// Removes the submissions up to that number, and the refused ones right behind them.
  mutating func removeDurable(through number: UInt64) -> [Entry] {
    let end = entries.firstIndex { $0.number.map { $0 > number } ?? false } ?? entries.count
    let removed = Array(entries[..<end])
    entries.removeFirst(end)
    for entry in removed where entry.number != nil { changes -= entry.submission.batch.changes.count }
    return removed
  }

  /// Removes all submissions, none of which is committed.
  mutating func removeLost() -> [Entry] {
    let lost = entries
    for entry in lost.reversed() { restore(entry.replaced) }
    entries.removeAll()
    changes = 0
    return lost
  }

  /// Adds a batch's counts to the counters, and their new values to its writes; gives the old values, in order.
  private mutating func count(_ batch: CommitBatch) -> [Replaced] {
    guard !batch.counters.isEmpty else { return [] }
    var replaced: [Replaced] = []
    replaced.reserveCapacity(batch.counters.count)
    for delta in batch.counters {
      let old = counters[delta.key]
      let sum = (old ?? .integer(0)) + delta.amount
      counters[delta.key] = sum
      key.removeAll()
      StoreKey.counter(delta.key.name, labels: delta.key.labels, into: key)
      if !stored.unreadable.isEmpty, stored.mayHide(key.bytes), stored.values[delta.key] == nil {
        replaced.append(Replaced(key: delta.key, value: old, removed: []))
        continue
      }
      let removed = stored.removeRenamed(delta.key, in: batch.writes)
      replaced.append(Replaced(key: delta.key, value: old, removed: removed))
      value.removeAll()
      sum.json.write(to: value)
      batch.writes.put(key.bytes, value.bytes)
    }
    return replaced
  }

  private mutating func restore(_ replaced: [Replaced]) {
    for counter in replaced.reversed() {
      counters[counter.key] = counter.value
      stored.restore(counter.removed, of: counter.key)
    }
  }
}

/// What a worker submits to the commit pipeline: a commit batch, and the replies that leave once it is durable.
///
/// While it collects, its batch is the one that the worker's evaluator fills. Once it is durable it only gets read: each worker that has connections which
/// wait for some of its replies sends these, and the last one that is done with it recycles it.
final class Submission: @unchecked Sendable {  // its worker's until it is submitted, read-only once it is durable
  private(set) var batch: CommitBatch
  /// The bytes of the replies.
  let replyBytes = ByteBuffer(capacity: 64 << 10)
  private(set) var replies: [PendingReply] = []
  /// The workers whose connections wait for a reply, but for those that wait for a cascade too.
  private(set) var recipients = WorkerSet()
  /// When the clients' events began that it answers.
  private(set) var starts: [EventStarts] = []
  private let readers = Atomic<Int>(1)

  /// The most bytes that a submission may take and be recycled.
  private static let mostBytes = 1 << 20

  init(_ batch: CommitBatch) { self.batch = batch }

  /// Whether there is neither anything to write nor anybody who waits.
  var isEmpty: Bool { batch.isEmpty && replies.isEmpty && batch.awaited.isEmpty }

  func append(_ reply: PendingReply) {
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

  /// The bytes of a reply of this submission.
  func bytes(of reply: PendingReply) -> ByteView {
    replyBytes.bytes.extracting(reply.range)
  }

  /// The id of the request that a reply of this submission answers; empty for a notification.
  func id(of reply: PendingReply) -> ByteView {
    replyBytes.bytes.extracting(reply.id)
  }

  // MARK: Recycling

  /// Sets how many workers will call `release`.
  func share(among count: Int) { readers.store(count, ordering: .relaxed) }

  /// Ends one worker's use; true for the last, which recycles it.
  func release() -> Bool { readers.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  /// Makes it an empty submission of `batch`, with the memory that it has; false if that is too much to keep.
  func reuse(for batch: CommitBatch) -> Bool {
    guard replyBytes.capacity <= Self.mostBytes else { return false }
    self.batch = batch
    replyBytes.removeAll()
    replies.removeAll(keepingCapacity: true)
    recipients = WorkerSet()
    removeStarts()
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
  /// The cascade that it waits for too, and the key under which its worker holds it meanwhile.
  let cascade: (cascade: Cascade, key: UInt64)?
  /// Whether it shows what is committed, and writes nothing itself.
  let isRead: Bool
}

struct ReplyTarget: Sendable {
  /// What sends a reply to the client.
  enum Receiver: Sendable, Hashable {
    /// The worker that has the connection.
    case worker(Int)
    case http
  }

  /// The connection's token, or the token of the HTTP exchange.
  let connection: UInt64
  /// The request batch that the request is part of, 0 for none.
  let batch: UInt64
  /// Its slot in the request batch.
  let slot: Int
  let receiver: Receiver
  /// Whether the client may call what only administrators may.
  let isAdmin: Bool

  init(_ receiver: Receiver, connection: UInt64, batch: UInt64 = 0, slot: Int = 0, isAdmin: Bool) {
    self.receiver = receiver
    self.connection = connection
    self.batch = batch
    self.slot = slot
    self.isAdmin = isAdmin
  }
}

/// A set of workers by index; the 64th and all later ones share one bit, so that `contains` may be true for others, too.
struct WorkerSet: Sendable {
  private var bits: UInt64 = 0

  mutating func insert(_ worker: Int) { bits |= 1 << UInt64(min(worker, 63)) }

  /// Adds the workers of another set.
  mutating func formUnion(_ other: WorkerSet) { bits |= other.bits }

  /// Whether a worker may be in it.
  func contains(_ worker: Int) -> Bool { bits & 1 << UInt64(min(worker, 63)) != 0 }
}
