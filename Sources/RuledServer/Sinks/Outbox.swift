package import RuledCore
import RuledEngine
import Synchronization

/// The outbox as the other threads see it: they add committed effects here and read the figures of the sinks.
package final class Outbox: Sendable {
  /// A message to the outbox's thread.
  enum Message: Sendable {
    /// Deliver these committed effects.
    case add([EffectKey])
    /// Scan the store for effects that were not added.
    case scanStore
    /// Use other sinks; secrets and files may have changed too.
    case reload([String: Configuration.Sink])
    /// Go on with the delivery of that number: its sink handler has answered.
    case handlerAnswered(UInt64, HandlerAnswer)
    /// The mark of an effect as given up is durable, or has failed.
    case markingEnded(EffectKey, sink: String)
    /// End once no delivery is under way, or after so many milliseconds.
    case stop(milliseconds: UInt64, then: @Sendable () -> Void)
  }

  /// How many added effects may wait in the mailbox; further ones are found by a scan of the store.
  private static let maximumBacklog = 65_536

  let mailbox = Mailbox<Message>()
  private let backlog = Atomic<Int>(0)
  private let hasRequestedScan = Atomic<Bool>(false)
  private let figuresBySink = Mutex<[String: SinkFigures]>([:])

  /// An outbox before its thread runs.
  init() {}

  /// Adds committed effects.
  func add(_ effects: [EffectKey]) {
    guard !effects.isEmpty else { return }
    guard backlog.wrappingAdd(effects.count, ordering: .relaxed).newValue <= Self.maximumBacklog else {
      backlog.wrappingSubtract(effects.count, ordering: .relaxed)
      if !hasRequestedScan.exchange(true, ordering: .relaxed) { mailbox.send(.scanStore) }
      return
    }
    mailbox.send(.add(effects))
  }

  /// Has the store scanned for effects that were not added.
  func scanStore() { mailbox.send(.scanStore) }

  /// Uses other sinks; secrets are read and files opened again, and effects that were given up are tried again.
  func reload(_ sinks: [String: Configuration.Sink]) { mailbox.send(.reload(sinks)) }

  /// Ends the thread once no delivery is under way, or after so many milliseconds, and then calls `done` on it.
  func stop(within milliseconds: UInt64, then done: @escaping @Sendable () -> Void = {}) {
    if !mailbox.send(.stop(milliseconds: milliseconds, then: done)) { done() }
  }

  /// Removes effects from the backlog, once the thread has received them.
  func removeFromBacklog(_ count: Int) { backlog.wrappingSubtract(count, ordering: .relaxed) }

  /// Notes that a scan of the store begins: effects that are dropped from now on need another one.
  func beginScan() { hasRequestedScan.store(false, ordering: .relaxed) }

  /// The figures of a sink, made on first use.
  func figures(of sink: String) -> SinkFigures {
    figuresBySink.withLock { table in
      if let figures = table[sink] { return figures }
      let made = SinkFigures()
      table[sink] = made
      return made
    }
  }

  /// The figures of all sinks that have had effects, in order of name.
  package var figures: [(sink: String, figures: SinkFigures)] {
    figuresBySink.withLock { table in table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
  }
}

/// The counters of a sink since the start; one thread counts, any may read.
package final class SinkFigures: Sendable {
  private let deliveredCount = Atomic<Int>(0)
  private let failedCount = Atomic<Int>(0)
  private let expiredCount = Atomic<Int>(0)
  private let retriedCount = Atomic<Int>(0)
  private let waitingCount = Atomic<Int>(0)
  private let unreadableCount = Atomic<Int>(0)

  /// Counters at 0.
  init() {}

  /// Effects that the receiver accepted.
  package var delivered: Int { deliveredCount.load(ordering: .relaxed) }
  /// Effects that were given up because the receiver refused them.
  package var failed: Int { failedCount.load(ordering: .relaxed) }
  /// Effects that their handler let expire.
  package var expired: Int { expiredCount.load(ordering: .relaxed) }
  /// Tries that failed and are repeated.
  package var retried: Int { retriedCount.load(ordering: .relaxed) }
  /// About how many effects wait.
  package var waiting: Int { waitingCount.load(ordering: .relaxed) }
  /// Waiting effects that can't be read at present; each holds up the later ones of its subject.
  package var unreadable: Int { unreadableCount.load(ordering: .relaxed) }

  /// The figures as `health` shows them.
  package var json: JSONValue {
    .object([
      "delivered": .integer(Int64(delivered)), "failed": .integer(Int64(failed)), "expired": .integer(Int64(expired)),
      "retried": .integer(Int64(retried)), "waiting": .integer(Int64(waiting)),
      "unreadable": .integer(Int64(unreadable)),
    ])
  }

  func countDelivered(_ count: Int = 1) { deliveredCount.wrappingAdd(count, ordering: .relaxed) }
  func countFailed() { failedCount.wrappingAdd(1, ordering: .relaxed) }
  func countExpired() { expiredCount.wrappingAdd(1, ordering: .relaxed) }
  func countRetried() { retriedCount.wrappingAdd(1, ordering: .relaxed) }
  func setUnreadable(_ count: Int) { unreadableCount.store(count, ordering: .relaxed) }
  func setWaiting(_ count: Int) { waitingCount.store(max(count, 0), ordering: .relaxed) }
}
