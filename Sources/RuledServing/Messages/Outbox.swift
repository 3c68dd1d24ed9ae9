import RuledCore
import RuledDelivery
import RuledIO
import RuledWire
import Synchronization

/// The outbox as the other threads see it: they add committed effects here and read the figures of the sinks.
final class Outbox: Sendable {
  enum Message: Sendable {
    case add([EffectKey])
    /// Scan the store for effects that were not added.
    case scanStore
    /// Use other sinks; secrets are read and files opened again, and given-up effects are tried again.
    case reload([String: Configuration.Sink])
    /// Go on with the delivery of that number: its sink handler has answered; the text is the effect's.
    case handlerAnswered(UInt64, HandlerAnswer, text: [UInt8])
    /// The mark of an effect as given up is durable, or has failed.
    case markingEnded(EffectKey, sink: String)
    case task(OutboxTask, ControlCaller)
    /// A change of effects is durable, or is lost: take the step that follows the change of that number.
    case changeEnded(UInt64, isWhole: Bool)
    /// Count the effects again, as a subject's effects were erased.
    case recount
    /// Answer the requests for effects of a connection: its client has ended its side.
    case endWaits(connection: UInt64, at: ReplyTarget.Receiver)
    /// End all waits for effects to lease.
    case endAllWaits
    /// End once no delivery is under way, or after so many milliseconds.
    case stop(milliseconds: UInt64, then: @Sendable () -> Void)
  }

  /// The most added effects in the mailbox; a scan of the store finds further ones.
  private static let maximumBacklog = 65_536

  let mailbox = Mailbox<Message>()
  private let backlog = Atomic<Int>(0)
  private let hasRequestedScan = Atomic<Bool>(false)
  private let figuresBySink = Mutex<[String: SinkFigures]>([:])

  func add(_ effects: [EffectKey]) {
    guard !effects.isEmpty else { return }
    guard backlog.wrappingAdd(effects.count, ordering: .relaxed).newValue <= Self.maximumBacklog else {
      backlog.wrappingSubtract(effects.count, ordering: .relaxed)
      if !hasRequestedScan.exchange(true, ordering: .relaxed) { mailbox.send(.scanStore) }
      return
    }
    mailbox.send(.add(effects))
  }

  /// Ends the thread once no delivery is under way, or after so many milliseconds, and then calls `done` on it.
  func stop(within milliseconds: UInt64, then done: @escaping @Sendable () -> Void = {}) {
    if !mailbox.send(.stop(milliseconds: milliseconds, then: done)) { done() }
  }

  /// Removes effects from the backlog, once the thread has received them.
  func removeFromBacklog(_ count: Int) { backlog.wrappingSubtract(count, ordering: .relaxed) }

  /// Notes that a scan of the store begins: effects dropped from now on need another one.
  func beginScan() { hasRequestedScan.store(false, ordering: .relaxed) }

  func figures(of sink: String) -> SinkFigures {
    figuresBySink.withLock { table in
      if let figures = table[sink] { return figures }
      let made = SinkFigures()
      table[sink] = made
      return made
    }
  }

  /// The figures of all sinks that have had effects, in order of name.
  var figures: [(sink: String, figures: SinkFigures)] {
    figuresBySink.withLock { table in table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
  }
}

/// A method that the outbox's thread executes.
enum OutboxTask: Sendable {
  case list(EffectsParams)
  case show(EffectSelection)
  case resend(EffectSelection)
  case drop(EffectSelection)
  case lease(LeaseParams)
  case confirm(ConfirmParams)
}
