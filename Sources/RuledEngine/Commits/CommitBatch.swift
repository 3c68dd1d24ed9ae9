package import RuledCore
package import RuledStore

/// The writes of one worker's events, committed together, and their consequences once they are durable.
///
/// The evaluator fills it, `takeBatch` hands it out to be committed. It is recycled, so that filling one allocates nothing once there is room.
package final class CommitBatch: @unchecked Sendable {  // read-only once it is taken
  /// A message that leaves once the commit is durable.
  package struct Message: Sendable {
    package let subject: [UInt8]
    package let sequence: UInt64
    /// The cascade that it belongs to, if somebody waits for that.
    package let cascade: Cascade?
    /// The counter of its plugin's messages; nil as long as only the message's key is known.
    package var sender: MessageSender?

    package init(subject: [UInt8], sequence: UInt64, cascade: Cascade? = nil, sender: MessageSender? = nil) {
      self.subject = subject
      self.sequence = sequence
      self.cascade = cascade
      self.sender = sender
    }

    /// Its key in the store.
    var key: [UInt8] { StoreKey.bytes { StoreKey.numbered(.message, subject, sequence, into: $0) } }
  }

  /// Counts up; a later batch never becomes durable before an earlier one of the same worker.
  private(set) var number: UInt64
  package let writes = WriteSet(capacity: 64 << 10)
  var counters: [CounterDelta] = []
  /// The counters that it removes, as their time is over.
  var removedCounters: [CounterKey] = []
  /// Whether the table of counters has added the amounts; guarded by the table's lock.
  var hasCounted = false
  var boards: [BoardChange] = []
  package var messages: [Message] = []
  package var topics: [TopicChange] = []
  /// The numbers of the publications, once the batch is appended, and the cascades that wait for them.
  var numbered: [(number: UInt64, cascade: Cascade?)] = []
  /// The earliest time of a timer that was set, in microseconds.
  package var earliestTimer: Int64?
  /// The change of the number of waiting timers.
  package var waitingTimers = 0
  package var effects: [EffectKey] = []
  /// Whether it removes undelivered effects of an erased subject.
  package var removesEffects = false
  /// The messages that this commit applies, or erases with their subject: if it is lost, they must be applied.
  package var delivered: [Message] = []
  /// Cascades that wait for this commit, durable or not.
  package var awaited: [Cascade] = []
  /// Changes of the plugins' numbers of parked events, in the order of the events.
  package private(set) var parked: [(plugin: String, change: Int)] = []
  package private(set) var changes: ChangeLog

  init(number: UInt64, changes: ChangeLog = ChangeLog()) {
    self.number = number
    self.changes = changes
  }

  /// Notes that a plugin has one more parked event, or one fewer.
  func countParked(of plugin: String, _ change: Int) { parked.append((plugin, change)) }

  package var publishes: Bool { topics.contains { $0.publication != nil } }

  func publishes(_ publisher: ByteView) -> Bool {
    for case .publish(let publication) in topics where publication.publisher.elementsEqual(publisher) { return true }
    return false
  }

  package var isEmpty: Bool { writes.isEmpty && counters.isEmpty }

  // MARK: Rolling back

  /// The lengths of a batch's parts at a moment.
  package struct Mark {
    let writes: WriteSet.Mark
    let counters: Int
    let boards: Int
    let messages: Int
    let topics: Int
    let delivered: Int
    let earliestTimer: Int64?
    let waitingTimers: Int
    let effects: Int
    let parked: Int
    let changes: Int
  }

  package var mark: Mark {
    Mark(
      writes: writes.mark, counters: counters.count, boards: boards.count, messages: messages.count,
      topics: topics.count, delivered: delivered.count, earliestTimer: earliestTimer, waitingTimers: waitingTimers,
      effects: effects.count, parked: parked.count, changes: changes.count)
  }

  func rollBack(to mark: Mark) {
    writes.truncate(to: mark.writes)
    counters.removeSubrange(mark.counters...)
    boards.removeSubrange(mark.boards...)
    for message in messages[mark.messages...] { message.cascade?.leave() }
    messages.removeSubrange(mark.messages...)
    for change in topics[mark.topics...] { change.publication?.cascade?.leave() }
    topics.removeSubrange(mark.topics...)
    delivered.removeSubrange(mark.delivered...)
    earliestTimer = mark.earliestTimer
    waitingTimers = mark.waitingTimers
    effects.removeSubrange(mark.effects...)
    parked.removeSubrange(mark.parked...)
    changes.truncate(to: mark.changes)
  }

  // MARK: Recycling

  /// The most bytes that the writes of a recycled batch may take.
  private static let mostBytes = 1 << 20

  /// Makes it an empty batch with the memory that it has; false if that is too much to keep.
  func reuse(number: UInt64, changes: ChangeLog) -> Bool {
    guard writes.capacity <= Self.mostBytes else { return false }
    self.number = number
    writes.removeAll()
    counters.removeAll(keepingCapacity: true)
    removedCounters.removeAll()
    boards.removeAll(keepingCapacity: true)
    hasCounted = false
    messages.removeAll()
    topics.removeAll()
    numbered.removeAll()
    earliestTimer = nil
    waitingTimers = 0
    effects.removeAll()
    removesEffects = false
    parked.removeAll()
    delivered.removeAll()
    awaited.removeAll()
    self.changes = changes
    return true
  }
}
