/// The fixed limits, in one place; limits that the configuration may change have their defaults here.
///
/// Sizes are bytes and durations microseconds unless the name says otherwise.
package enum Limits {
  package static let subjectBytes = 256
  package static let typeBytes = 256
  package static let extensionNameBytes = 64
  /// How deep JSON may nest, counted over the whole line, and a value of a rule.
  package static let jsonDepth = 64
  /// How many lists, objects and members of objects the event of a client, the arguments of a query, and the data of an event or effect of a rule may
  /// have, at any depth.
  ///
  /// A list or an object takes up to 400 bytes of a plugin's memory, whatever its text takes.
  package static let parts = 10_000
  /// How deep JSON of the daemon's own may nest, which has requests and values of rules within it.
  package static let storedDepth = jsonDepth + 8
  /// The longest request without its newline, by default.
  package static let requestBytes = 1 << 20
  /// The longest outcome as JSON.
  package static let outcomeBytes = 1 << 20
  /// Open connections, by default.
  static let connections = 1024
  /// Requests in flight in the whole daemon, by default.
  static let inFlight = 65_536
  /// How many of the connections, and of the requests in flight, are for administrators and probes alone, by default.
  static let reserved = 16
  /// How many HTTP connections beyond `connections` may ask for health, as probes do.
  package static let probeConnections = 16
  /// After how many seconds without a request a connection may be closed for another one, by default.
  static let idleSeconds = 300
  /// The same before the first byte, over TCP.
  package static let silentSeconds = 10
  /// One plugin's encoded state for one subject, in KiB, by default.
  package static let stateKiB = 256
  /// One plugin's series of counters, by default: names with their labels.
  package static let counters = 100_000
  /// How many counters of rules the metrics show, by default.
  static let metricSeries = 1_000
  /// The least time between a timer and the next one that its event sets, by default.
  static let timerStep = second
  /// How many timers of one plugin may be pending for one subject.
  package static let timers = 1_000
  /// For each so many pending timers of a plugin and subject, a timer that an event of one of them sets is due a step later.
  package static let crowdedTimers = 100
  /// The cache of hot subjects, in MiB, by default.
  static let cacheMiB = 256
  /// A shadow that is so many seconds behind skips subjects, by default.
  static let shadowSeconds = 30
  /// How many subjects a shadow skips before it ends.
  package static let skippedSubjects = 1_000_000
  /// How long an outcome is remembered, by default.
  package static let dedupWindow: Int64 = 48 * hour

  /// How many bytes the effects or parked events of a page may have before it ends early.
  package static let pageBytes = 8 << 20

  package static let sourceFileBytes = 256 << 10
  package static let dataFileBytes = 4 << 20
  /// The bytes of all files of the rules folder together.
  package static let folderBytes = 64 << 20
  /// How many files and folders the rules folder may hold, whatever they are called.
  package static let folderEntries = 10_000
  package static let loadTime: Int64 = 2 * second
  /// A plugin that takes longer to load has its machines built ahead, so that no thread which serves clients waits for them.
  package static let slowLoad: Int64 = 5_000
  /// How long the building ahead may take for one load of the rules.
  package static let aheadTime: Int64 = 60 * second
  package static let loadMemoryBytes = 64 << 20
  /// Lua instructions for one event and plugin, by default.
  package static let instructions = 1_000_000
  /// Memory for one event and plugin, by default.
  package static let memoryBytes = 16 << 20
  /// Processor time for one event and plugin.
  package static let processorTime: Int64 = 50_000
  /// How many operations one plugin may ask for in one event, raised events included.
  ///
  /// Decisions, effects, messages, timers, counts, `once` keys, raised events and log lines count together. Their texts take no more than the
  /// budget's memory.
  package static let operations = 10_000
  /// A subject is put off for a plugin once the plugin was stopped on so many of its events in a row.
  package static let stopsBeforePuttingOff = 3
  /// How long a subject is put off at first; each further stop doubles it.
  package static let putOffTime: Int64 = 60 * second
  package static let longestPutOffTime = hour
  /// The most subjects with stopped events of which a plugin keeps a record.
  package static let stoppedSubjects = 1_000
  /// The time over which the cost of stopped events is added up.
  package static let stopWindow: Int64 = 10 * second
  /// A plugin is suspended only if events of more subjects than this were stopped in that time.
  package static let subjectsBeforeSuspension = 20
  /// A plugin is suspended only if stopped events took more of the workers' time than one part in so many.
  package static let stoppedFraction: Int64 = 10
  /// How many bytes of a receiver's answer are kept with an effect that it did not take.
  package static let answerBytes = 300
  /// How many events the candidate of a rollout must have decided before a fraction of failures aborts it.
  package static let rolloutEvents = 100
  /// The longest lease of effects, in seconds.
  package static let leaseSeconds: Int64 = 3_600
  package static let leaseDefaultSeconds: Int64 = 60
  /// How long a lease may wait for a first effect, in seconds.
  package static let leaseWaitSeconds: Int64 = 60
  /// The memory that the effects of one lease may take; one effect may always be leased.
  package static let leaseBytes = 1 << 20
  package static let testTime: Int64 = 5 * second

  /// Processor time for all events that were raised within one event, for each plugin that sees them.
  package static let raisedTime = second
  /// The factor by which a replay may exceed the processor time of a budget; rules that ran out of time in the record do so again.
  package static let replaySlowness: Int64 = 10
  /// How many hops a message may have behind it.
  package static let messageHops = 32
  /// How many messages one plugin may send for one event.
  package static let messagesPerEvent = 1_000
  /// How many messages may follow from one event, directly or through other messages.
  package static let messagesPerCascade = 100_000
  /// How many publications may follow from one event, directly or through messages and other publications.
  package static let publicationsPerCascade = 1_000
  /// How many messages may follow from a stored message of an older version, which holds no such limit.
  package static let messagesPerOldMessage = 1_000
  /// How many messages of one plugin may wait before the plugin counts as storming.
  package static let stormingMessages = 10_000
  /// How long a plugin counts as storming after a limit of messages stopped it.
  package static let stormingTime: Int64 = 60 * second

  /// The length of a list when none is asked for.
  package static let listDefault = 100
  package static let listMaximum = 1_000
  /// How many changes can be watched after the fact.
  package static let watchHistory = 10_000
  /// How many bytes of changes are held at most; as a rule `watchHistory` is reached first.
  package static let watchHistoryBytes = 128 << 20
  package static let connectionWatches = 100
  /// The memory that the filters of one connection's watches may take.
  package static let connectionFilterBytes = 1 << 20
  /// How many watches there may be on all connections.
  package static let watches = 10_000
  /// The memory that the filters of all watches may take.
  package static let filterBytes = 64 << 20

  /// How many bytes requests under way may take on all HTTP connections together, unless four of the longest take more.
  package static let httpBytes = 64 << 20
  /// How many bytes incomplete lines may take on all connections together, unless four of the longest take more.
  package static let lineBytes = 64 << 20
  /// How many bytes replies that wait for cascades may take on one connection.
  package static let cascadeBytes = 1 << 20
  /// How many bytes of unsent replies all connections may have together, beyond 1 MiB for each: a connection that needs more is closed.
  package static let unsentBytes = 512 << 20
  /// A connection that takes none of its replies for this long is closed.
  package static let connectionProgress: Int64 = 60 * second
  /// How often an `interval` store reaches the disk.
  package static let syncInterval: Int64 = second
  package static let shutdownTime: Int64 = 5 * second

  /// A second in microseconds.
  package static let second: Int64 = 1_000_000
  package static let hour: Int64 = 3_600 * second
}
