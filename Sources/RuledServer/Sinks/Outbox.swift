import RuledCore
import RuledEngine
import Synchronization

/// The other threads' side of the outbox: what was recorded is told here, and how the sinks fare is read here.
package final class Outbox: Sendable {
  /// How many recorded effects may wait in the mailbox; beyond it they are found by going through the store.
  private static let backlogLimit = 65_536

  let mailbox = Mailbox<OutboxMessage>()
  private let backlog = Atomic<Int>(0)
  private let hasMissed = Atomic<Bool>(false)
  private let bySink = Mutex<[String: SinkFigures]>([:])

  /// An outbox that no thread serves yet.
  init() {}

  /// Says that effects were committed.
  func recorded(_ effects: [EffectKey]) {
    guard !effects.isEmpty else { return }
    guard backlog.wrappingAdd(effects.count, ordering: .relaxed).newValue <= Self.backlogLimit else {
      backlog.wrappingSubtract(effects.count, ordering: .relaxed)
      if !hasMissed.exchange(true, ordering: .relaxed) { mailbox.send(.look) }
      return
    }
    mailbox.send(.recorded(effects))
  }

  /// Says that effects may stand in the store of which nothing was told.
  func look() { mailbox.send(.look) }

  /// Puts other sinks in force; secrets are read and files opened anew, and what was given up is tried again.
  func reload(_ sinks: [String: Configuration.Sink]) { mailbox.send(.reload(sinks)) }

  /// Ends the thread once what is in flight has ended, or after so many milliseconds, and calls `done` on it.
  func stop(within milliseconds: UInt64, then done: @escaping @Sendable () -> Void = {}) {
    if !mailbox.send(.stop(milliseconds: milliseconds, then: done)) { done() }
  }

  /// The thread has taken so many of the recorded effects from the mailbox.
  func took(_ count: Int) { backlog.wrappingSubtract(count, ordering: .relaxed) }

  /// The thread begins to go through the store: what is recorded from now on is told again.
  func looks() { hasMissed.store(false, ordering: .relaxed) }

  /// The figures of a sink, made when it has none.
  func figures(of sink: String) -> SinkFigures {
    bySink.withLock { table in
      if let figures = table[sink] { return figures }
      let made = SinkFigures()
      table[sink] = made
      return made
    }
  }

  /// The figures of all sinks that effects came for, in order of name.
  package var figures: [(sink: String, figures: SinkFigures)] {
    bySink.withLock { table in table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
  }
}
