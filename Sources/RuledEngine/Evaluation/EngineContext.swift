package import RuledCore
import RuledJournal
package import RuledStore
package import Synchronization

/// The data that all workers share: the store, the clock, the counters, the boards, and the sequence of unique numbers.
package final class EngineContext: Sendable {
  package let store: any StateStore
  package let clock: EngineClock
  package let clockMoves = ClockMoves()
  package let counters = CounterTable()
  package let boards = BoardTable()
  package let senders = MessageSenders()
  package let publications = Publications()
  /// The number of each plugin's parked events, without those in batches that are not durable.
  package let parkedCounts = ParkedCounts()
  /// The number of timers that wait, without those in batches that are not durable.
  package let waitingTimers = Atomic<Int>(0)
  package let timerLoops = TimerLoops()
  /// The steps that lead states back to earlier versions.
  package let steps = StateSteps()
  /// How many messages were parked since the start because they could not be read.
  package let damagedMessages = Atomic<Int>(0)
  package let changeLogs = ChangeLogPool()
  /// The configuration at the start.
  package let configuration: Configuration
  package let log: any EventLog
  /// Whether effects are kept until they are delivered; nothing delivers those of a replay.
  let keepsEffects: Bool
  package let damage = DamageReport()
  /// Whether commits have records for the journal; set before anything is evaluated.
  package let journals = Atomic<Bool>(false)
  /// How many threads evaluate; set before anything is evaluated.
  package let workers = Atomic<Int>(1)
  /// A bound that is in the store: no number from it on is given before a higher one is stored.
  ///
  /// See `StoredTime`.
  let reservedSequence = Atomic<UInt64>(.max)
  private let sequence: Atomic<UInt64>
  private let window = Atomic<Int64>(0)
  private let stateLimit = Atomic<Int>(0)
  private let seriesLimit = Atomic<Int>(0)
  private let step = Atomic<Int64>(0)
  private let redacts = Atomic<Bool>(false)
  private let redactionPaths = Mutex<Redaction?>(nil)

  package init(
    store: any StateStore, clock: EngineClock, configuration: Configuration, log: any EventLog,
    keepsEffects: Bool = true
  ) {
    self.store = store
    self.keepsEffects = keepsEffects
    self.clock = clock
    self.configuration = configuration
    self.log = log
    sequence = Atomic(UInt64(max(clock.isManual ? EngineClock.wall.microseconds : clock.now.microseconds, 0)) << 8)
    adopt(configuration)
  }

  /// How long an outcome is remembered, in microseconds.
  var dedupWindow: Int64 { window.load(ordering: .relaxed) }

  var stateBytes: Int { stateLimit.load(ordering: .relaxed) }

  package var counterLimit: Int { seriesLimit.load(ordering: .relaxed) }

  /// The least time between a timer and the next one that its event sets, in microseconds.
  package var timerStep: Int64 { step.load(ordering: .relaxed) }

  /// The journal's redaction; nil without one, and in a replay.
  var redaction: Redaction? { redacts.load(ordering: .relaxed) ? redactionPaths.withLock { $0 } : nil }

  /// Applies the limits on outcomes, states, counters and timers of a changed configuration, and its redaction.
  package func adopt(_ configuration: Configuration) {
    window.store(configuration.dedupWindow, ordering: .relaxed)
    stateLimit.store(configuration.limits.stateKiB << 10, ordering: .relaxed)
    seriesLimit.store(configuration.limits.counters, ordering: .relaxed)
    step.store(configuration.limits.timerStep, ordering: .relaxed)
    let redaction = keepsEffects ? Redaction(configuration.journal.redact) : nil
    redactionPaths.withLock { $0 = redaction }
    redacts.store(redaction != nil, ordering: .relaxed)
  }

  /// The next number of a message, an effect or a parked event.
  package func nextSequence() -> UInt64 { sequence.wrappingAdd(1, ordering: .relaxed).newValue }

  var lastSequence: UInt64 { sequence.load(ordering: .relaxed) }

  package func advanceSequence(to number: UInt64) {
    var current = sequence.load(ordering: .relaxed)
    while current < number {
      let (done, original) = sequence.compareExchange(expected: current, desired: number, ordering: .relaxed)
      if done { return }
      current = original
    }
  }
}
