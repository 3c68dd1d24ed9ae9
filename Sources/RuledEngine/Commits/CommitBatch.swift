package import RuledCore
package import RuledStore
import Synchronization

/// What one worker wants to be made durable together, and what waits for it.
package final class CommitBatch: @unchecked Sendable {  // one worker changes it until it is taken
  /// A message that leaves once the commit is durable.
  package struct Message: Sendable {
    /// The subject that it is for.
    package let subject: [UInt8]
    /// Its number, by which the store holds it.
    package let sequence: UInt64
    /// Who waits for what follows from it.
    package let cascade: Cascade?
    /// What counts the messages of the plugin that sent it; nil as long as only its key is known.
    package var sender: MessageSender?

    /// A message by its key.
    package init(subject: [UInt8], sequence: UInt64, cascade: Cascade? = nil, sender: MessageSender? = nil) {
      self.subject = subject
      self.sequence = sequence
      self.cascade = cascade
      self.sender = sender
    }
  }

  /// Counts up; a later batch never becomes durable before an earlier one of the same worker.
  package private(set) var number: UInt64
  /// What is written.
  package let writes = WriteSet(capacity: 64 << 10)
  /// What is added to the shared counters.
  package var counters: [CounterTable.Delta] = []
  /// Whether those stand in the table of counters, whose lock guards it.
  var hasCounted = false
  /// Messages to hand over.
  package var messages: [Message] = []
  /// The earliest time of a timer that was set, in microseconds.
  package var earliestTimer: Int64?
  /// The effects that were recorded for sinks.
  package var effects: [EffectKey] = []
  /// The bytes of the replies that wait.
  package let replyBytes = ByteBuffer(capacity: 64 << 10)
  /// The replies that wait.
  package private(set) var replies: [PendingReply] = []
  /// The workers that send some of them by themselves.
  package private(set) var senders = WorkerSet()
  /// The messages that this commit applies.
  package var delivered: [Message] = []
  /// What has been waiting for this commit, whatever becomes of it.
  package var awaited: [Cascade] = []
  /// What watchers are told.
  package private(set) var changes: ChangeLog
  private let holders = Atomic<Int>(1)

  /// An empty batch.
  package init(number: UInt64, changes: ChangeLog = ChangeLog()) {
    self.number = number
    self.changes = changes
  }

  // MARK: Using it again

  /// Says how many workers will `letGo` of it.
  package func share(among count: Int) { holders.store(count, ordering: .relaxed) }

  /// Says that a worker needs it no longer; true for the last, who may use it again.
  package func letGo() -> Bool { holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  /// How many bytes it takes, about.
  private var capacity: Int { writes.capacity + replyBytes.capacity }

  /// How many bytes a batch may take that is used again.
  private static let mostBytes = 1 << 20

  /// Makes it an empty batch, whose room is kept; false if that is too much to keep.
  func begin(number: UInt64, changes: ChangeLog) -> Bool {
    guard capacity <= Self.mostBytes else { return false }
    self.number = number
    writes.removeAll()
    counters.removeAll(keepingCapacity: true)
    hasCounted = false
    messages.removeAll()
    earliestTimer = nil
    effects.removeAll()
    replyBytes.removeAll()
    replies.removeAll(keepingCapacity: true)
    senders = WorkerSet()
    delivered.removeAll()
    awaited.removeAll()
    self.changes = changes
    holders.store(1, ordering: .relaxed)
    return true
  }

  /// Adds a reply that waits.
  package func add(_ reply: PendingReply) {
    replies.append(reply)
    if reply.cascade == nil { senders.insert(reply.target.worker) }
  }

  /// A place to go back to.
  package struct Mark {
    let writes: WriteSet.Mark
    let counters: Int
    let messages: Int
    let delivered: Int
    let earliestTimer: Int64?
    let effects: Int
    let changes: Int
  }

  /// How far the batch has come.
  package var mark: Mark {
    Mark(
      writes: writes.mark, counters: counters.count, messages: messages.count, delivered: delivered.count,
      earliestTimer: earliestTimer, effects: effects.count, changes: changes.count)
  }

  /// Forgets all that joined since `mark`.
  package func rollBack(to mark: Mark) {
    writes.truncate(to: mark.writes)
    counters.removeSubrange(mark.counters...)
    for message in messages[mark.messages...] { message.cascade?.ended() }
    messages.removeSubrange(mark.messages...)
    delivered.removeSubrange(mark.delivered...)
    earliestTimer = mark.earliestTimer
    effects.removeSubrange(mark.effects...)
    changes.truncate(to: mark.changes)
  }

  /// Whether there is nothing to write.
  package var isEmpty: Bool { writes.isEmpty && counters.isEmpty }
}

/// A set of workers by number; beyond 63 of them it may say that others are in it.
package struct WorkerSet: Sendable {
  private var bits: UInt64 = 0

  /// A set of none.
  package init() {}

  /// Adds a worker; numbers below zero are none's.
  package mutating func insert(_ worker: Int) {
    if worker >= 0 { bits |= 1 << UInt64(min(worker, 63)) }
  }

  /// Adds the workers of another set.
  package mutating func formUnion(_ other: WorkerSet) { bits |= other.bits }

  /// Whether a worker may be in it.
  package func contains(_ worker: Int) -> Bool { bits & 1 << UInt64(min(worker, 63)) != 0 }
}

/// Where a reply goes; what the numbers mean is the server's.
package struct ReplyTarget: Sendable {
  /// The worker that has the connection.
  package let worker: Int
  /// The connection.
  package let connection: UInt64
  /// The batch that the request is part of, 0 for none.
  package let batch: UInt64
  /// Its place in the batch.
  package let slot: Int
  /// Whether the client may call what only administrators may.
  package let isAdmin: Bool

  /// A target.
  package init(worker: Int, connection: UInt64, batch: UInt64 = 0, slot: Int = 0, isAdmin: Bool) {
    self.worker = worker
    self.connection = connection
    self.batch = batch
    self.slot = slot
    self.isAdmin = isAdmin
  }
}

/// A reply that leaves once a commit is durable.
package struct PendingReply: Sendable {
  /// Where it goes.
  package let target: ReplyTarget
  /// Which part of the batch's reply bytes it is.
  package let range: Range<Int>
  /// Which part of the batch's reply bytes is the request's id.
  package let id: Range<Int>
  /// What else it waits for, and the number by which its worker keeps it meanwhile.
  package let cascade: (cascade: Cascade, key: UInt64)?

  /// A reply that waits.
  package init(
    target: ReplyTarget, range: Range<Int>, id: Range<Int>, cascade: (cascade: Cascade, key: UInt64)? = nil
  ) {
    self.target = target
    self.range = range
    self.id = id
    self.cascade = cascade
  }
}
