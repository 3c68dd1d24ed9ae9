package import RuledCore
package import RuledStore

/// What one worker wants to be made durable together, and what waits for it.
package final class CommitUnit: @unchecked Sendable {  // handed over whole: the worker, then the committer, then the worker again
  /// A message that leaves once the commit is durable.
  package struct Message: Sendable {
    /// The subject that it is for.
    package let subject: [UInt8]
    /// Its number, by which the store holds it.
    package let sequence: UInt64
    /// Who waits for what follows from it.
    package let cascade: Cascade?
  }

  /// Counts up; a later unit never becomes durable before an earlier one of the same worker.
  package let number: UInt64
  /// What is written.
  package let writes = WriteSet(capacity: 64 << 10)
  /// What is added to the shared counters.
  package var counters: [CounterTable.Delta] = []
  /// Messages to hand over.
  package var messages: [Message] = []
  /// The earliest time of a timer that was set, in microseconds.
  package var earliestTimer: Int64?
  /// How many effects were recorded for sinks.
  package var effects = 0
  /// The bytes of the replies that wait.
  package let replyBytes = ByteBuffer(capacity: 64 << 10)
  /// The replies that wait.
  package var replies: [PendingReply] = []
  /// Cascades that a message of this commit belonged to.
  package var finishedMessages: [Cascade] = []
  /// What watchers are told.
  package var changes: [Change] = []
  /// What is to be run on the worker once the commit is durable, or has failed.
  package var completions: [(Bool) -> Void] = []

  /// An empty unit.
  package init(number: UInt64) { self.number = number }

  /// A place to go back to.
  package struct Mark {
    let writes: WriteSet.Mark
    let counters: Int
    let messages: Int
    let earliestTimer: Int64?
    let effects: Int
    let changes: Int
  }

  /// How far the unit has come.
  package var mark: Mark {
    Mark(
      writes: writes.mark, counters: counters.count, messages: messages.count, earliestTimer: earliestTimer,
      effects: effects, changes: changes.count)
  }

  /// Forgets all that joined since `mark`.
  package func rollBack(to mark: Mark) {
    writes.truncate(to: mark.writes)
    counters.removeSubrange(mark.counters...)
    messages.removeSubrange(mark.messages...)
    earliestTimer = mark.earliestTimer
    effects = mark.effects
    changes.removeSubrange(mark.changes...)
  }

  /// Whether there is nothing to write.
  package var isEmpty: Bool { writes.isEmpty && counters.isEmpty }
}

/// A reply that leaves once a commit is durable.
package struct PendingReply: Sendable {
  /// Where it goes; what the number means is the server's.
  package let address: UInt64
  /// Which part of the unit's reply bytes it is.
  package let range: Range<Int>
  /// Which part of the unit's reply bytes is the request's id; empty for what is not answered.
  package let id: Range<Int>
  /// What else it waits for.
  package let cascade: Cascade?

  /// A reply that waits.
  package init(address: UInt64, range: Range<Int>, id: Range<Int>, cascade: Cascade? = nil) {
    self.address = address
    self.range = range
    self.id = id
    self.cascade = cascade
  }
}

/// A change that watchers are told.
package struct Change: Sendable {
  /// The subject that changed.
  package let subject: [UInt8]
  /// Its version after the change.
  package let version: UInt64
  /// The plugins that took part.
  package let plugins: [String]
  /// `"event":{…},"plugins":[…],"decisions":{…},"effects":[…]` as JSON members.
  package let members: [UInt8]
}
