package import RuledCore
package import RuledStore
package import Synchronization

/// What all workers share: the store, the clock, the counters and the numbers that never repeat.
package final class EngineContext: Sendable {
  /// Where everything is kept.
  package let store: any StateStore
  /// The time.
  package let clock: EngineClock
  /// The shared counters.
  package let counters = CounterTable()
  /// What is counted of the plugins' messages.
  package let senders = MessageSenders()
  /// How many messages were set aside since the start, since they could not be read.
  package let damagedMessages = Atomic<Int>(0)
  /// Logs of changes to be filled again.
  package let changeLogs = ChangeLogPool()
  /// What was configured at the start.
  package let configuration: Configuration
  /// What rules and the engine log.
  package let log: any EventLog
  /// What of the store can't be read.
  package let damage = DamageReport()
  /// No number that was given is as high, nor will one be before this is raised in the store: see `KeptTime`.
  let keptSequence = Atomic<UInt64>(.max)
  private let sequence: Atomic<UInt64>
  private let window: Atomic<Int64>
  private let stateLimit: Atomic<Int>
  private let seriesLimit: Atomic<Int>

  /// What workers share over one store.
  package init(store: any StateStore, clock: EngineClock, configuration: Configuration, log: any EventLog) {
    self.store = store
    self.clock = clock
    self.configuration = configuration
    self.log = log
    sequence = Atomic(UInt64(max(clock.isManual ? EngineClock.wall.microseconds : clock.now.microseconds, 0)) << 8)
    window = Atomic(configuration.dedupWindow)
    stateLimit = Atomic(configuration.limits.stateKiB << 10)
    seriesLimit = Atomic(configuration.limits.counters)
  }

  /// How long an outcome is remembered, in microseconds.
  package var dedupWindow: Int64 { window.load(ordering: .relaxed) }

  /// How many bytes one plugin's encoded state for one subject may have.
  package var stateBytes: Int { stateLimit.load(ordering: .relaxed) }

  /// How many series of counters one plugin may have.
  package var counterLimit: Int { seriesLimit.load(ordering: .relaxed) }

  /// Lets what a changed configuration says of outcomes, states and counters hold from now on.
  package func adopt(_ configuration: Configuration) {
    window.store(configuration.dedupWindow, ordering: .relaxed)
    stateLimit.store(configuration.limits.stateKiB << 10, ordering: .relaxed)
    seriesLimit.store(configuration.limits.counters, ordering: .relaxed)
  }

  /// The next number of a message, an effect or a parked event.
  package func nextSequence() -> UInt64 { sequence.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The last number that was given.
  var lastSequence: UInt64 { sequence.load(ordering: .relaxed) }

  /// Lets numbers begin behind one that the store holds.
  package func sequence(atLeast number: UInt64) {
    var current = sequence.load(ordering: .relaxed)
    while current < number {
      let (done, original) = sequence.compareExchange(expected: current, desired: number, ordering: .relaxed)
      if done { return }
      current = original
    }
  }
}

/// Where log lines go.
package protocol EventLog: AnyObject, Sendable {
  /// Writes one line; fields are JSON text.
  func write(_ line: LogLine)
}

/// A line of the log.
package struct LogLine: Sendable {
  /// How much it matters.
  package enum Level: Int, Sendable { case debug = 0, info, warn, error }

  /// How much it matters.
  package var level: Level
  /// What happened.
  package var message: String
  /// The plugin that it is about.
  package var plugin: String?
  /// The rule that it is about.
  package var rule: String?
  /// The event that it is about.
  package var event: String?
  /// A hash of the subject, which never stands in a log in clear.
  package var subjectHash: String?
  /// Further fields as JSON text; empty for none.
  package var fields = ""

  /// A line.
  package init(
    _ level: Level, _ message: String, plugin: String? = nil, rule: String? = nil, event: String? = nil,
    subjectHash: String? = nil, fields: String = ""
  ) {
    self.level = level
    self.message = message
    self.plugin = plugin
    self.rule = rule
    self.event = event
    self.subjectHash = subjectHash
    self.fields = fields
  }
}

/// A log that keeps nothing.
package final class NoLog: EventLog {
  /// A log that keeps nothing.
  package init() {}
  package func write(_ line: LogLine) {}
}
