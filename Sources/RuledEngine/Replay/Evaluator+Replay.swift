package import RuledCore
import RuledJSON
package import RuledJournal
import RuledStore

/// Functions for replays beside the evaluation of events: recorded events, and the timers, messages and parked parts of a subject.
extension Evaluator {
  /// Takes each event that takes effect; nil for nobody.
  package var recorder: EventRecorder? {
    get { transaction.recorder }
    set { transaction.recorder = newValue }
  }

  /// Gives rules more processor time, as the host may be slower, or busier, than that of the record.
  package func allowSlowness() {
    transaction.slowness = Limits.replaySlowness
    migration.slowness = Limits.replaySlowness
  }

  /// Leaves the changes for `watch` out of batches.
  package func omitChanges() { transaction.isWatchable = false }

  /// Has the recorder note which rules run, and how many instructions they take on those events whose seed has no bit in common with `mask`.
  ///
  /// To be called before the first event.
  package func recordCosts(mask: UInt64) { plugins.costMask = mask }

  // MARK: Recorded events

  package enum Replaying: Sendable {
    /// It takes effect, as the record says that it did.
    case asRecorded
    /// As if a client sent it now: a repeat of an event that took effect does nothing.
    case asSent
    /// Nothing is committed, and the outcome has a trace.
    case explaining
  }

  /// Evaluates a recorded event as of its `now`; its timer or message in the store stays as it is.
  ///
  /// - Returns: the outcome as the protocol's `event` answers.
  package func replay(_ entry: JournalEntry, _ replaying: Replaying = .asRecorded) throws(RequestError) -> ByteBuffer {
    let document = TapeDocument()
    let text = ByteBuffer(capacity: entry.event.count)
    entry.event.withView { text.append($0) }
    guard let object = try? document.parse(copyOf: text.bytes) else {
      throw RequestError(.unavailable, "the recorded event \(entry.sequence) is not JSON")
    }
    let origin: EventInput.Origin =
      switch entry.origin {
      case .message: .message
      case .timer: .timer
      case .retry: .retry
      case .client, .forget, .rules, .kept: replaying == .asSent ? .client : .recorded
      }
    var event = EventInput(stored: object, text: document.text, now: entry.now.microseconds, origin: origin)
    var timer: DueTimer?
    switch origin {
    case .message: break
    case .timer:
      event.time = object.member("due")?.integer ?? event.time
      timer = DueTimer(
        due: event.time, subject: Array(entry.subject.utf8), plugin: Array(entry.plugin.utf8),
        name: Array(entry.timer.utf8))
    case .client, .recorded, .retry:
      event.isInternal = object.member("internal")?.bool == true
      event.isExplained = object.member("explain")?.bool == true
    }
    if replaying == .explaining { (event.isDryRun, event.isExplained) = (true, true) }
    let reply = ByteBuffer(capacity: 512)
    try evaluate(event, of: timer, into: reply)
    withExtendedLifetime(document) {}
    return reply
  }

  /// Calls `body`, in which the plugins that `failures` names fail with them and are not run.
  package func imposing<Result>(
    _ failures: [Failure], _ body: () throws(RequestError) -> Result
  ) throws(RequestError) -> Result {
    transaction.imposedFailures = failures
    defer { transaction.imposedFailures.removeAll(keepingCapacity: true) }
    return try body()
  }

  // MARK: Waiting items

  /// The parts of a subject that are parked for a plugin and whose first event has the id of `event`, the first parked first.
  ///
  /// If one of them has the very same event, that part alone: sources may use the same ids.
  package func parkedParts(of subject: [UInt8], plugin: String, event: [UInt8]) throws(RequestError) -> [ParkedKey] {
    guard let event = event.withView({ try? JSONValue(parsing: $0) }) else { return [] }
    return try parked.parts(of: try subjects.fetchSubject(subject), plugin: plugin, event: event)
  }

  package func timers(of subject: [UInt8]) throws(RequestError) -> [DueTimer] {
    try items.timers.all(of: try subjects.fetchSubject(subject))
  }

  /// The timers that were set in the current batch since `mark`; some may have been cancelled again.
  package func timers(setSince mark: CommitBatch.Mark) -> [DueTimer] {
    var found: [DueTimer] = []
    batches.current.writes.forEach(from: mark.writes) { operation in
      guard case .put(let key, _) = operation, key.first == StoreKey.Kind.timerIndex.rawValue,
        case .timerIndex(let due, let subject, let plugin, let name)? = try? ParsedKey(key)
      else { return }
      found.append(DueTimer(due: due, subject: Array(subject), plugin: Array(plugin), name: Array(name)))
    }
    return found
  }

  /// The text of a message that waits, as it is stored; nil when there is none.
  ///
  /// It may be delivered even before the batch that sends it is committed.
  package func text(of message: CommitBatch.Message) throws(RequestError) -> [UInt8]? {
    let subject = try subjects.fetchSubject(message.subject)
    subject.lastCommit = batches.current.number
    let text = ByteBuffer(capacity: 256)
    let isThere = try message.key.withView { (key) throws(RequestError) in
      try batches.read(key, of: subject, into: text)
    }
    return isThere ? Array(text.bytes) : nil
  }

  package func replace(_ message: CommitBatch.Message, with text: [UInt8]) throws(RequestError) {
    let subject = try subjects.fetchSubject(message.subject)
    message.key.withView { key in text.withView { batches.current.writes.put(key, $0) } }
    subject.lastCommit = batches.current.number
  }

  /// The version and the states of a subject as they are now, as JSON: `{subject, version, plugins}`.
  package func state(of subject: String) throws(RequestError) -> JSONValue {
    let reply = ByteBuffer(capacity: 1024)
    try subject.withView { (name) throws(RequestError) in try state(name, plugin: nil, into: reply) }
    return (try? JSONValue(parsing: reply.bytes)) ?? .null
  }

  /// All that is stored of a subject now, as the method `export` shows it.
  package func export(of subject: String) throws(RequestError) -> JSONValue {
    try subject.withView { (name) throws(RequestError) in try export(name) }
  }

  /// Gives a subject a version and the plugins' states in the place of its own, and timers, `once` keys and topics; it remembers no events then.
  func give(_ name: [UInt8], _ given: GivenSubject) throws(RequestError) {
    let subject = try subjects.fetchSubject(name)
    let record = ByteBuffer(capacity: 1024)
    SubjectRecord.writeHeader(version: given.version, until: RememberedUntil(), recent: [], into: record)
    for given in given.states {
      let text = ByteBuffer(capacity: 256)
      given.state.write(to: text)
      let declared = catalog.plugin(given.plugin)?.stateVersion ?? 1
      SubjectRecord.writePlugin(
        Array(given.plugin.utf8), state: text.bytes, version: given.version.map { Int($0) } ?? declared, into: record)
      withExtendedLifetime(text) {}
    }
    subjects.setRecord(record.bytes, of: subject)
    subject.lastCommit = batches.current.number
    let key = ByteBuffer(capacity: 320)
    StoreKey.record(subject.name, into: key)
    batches.current.writes.put(key.bytes, record.bytes)
    withExtendedLifetime((record, key)) {}
    for timer in given.timers { try items.timers.give(timer, subject: subject) }
    for once in given.once { items.onceKeys.give(once, subject: subject) }
    for topic in given.topics { try items.topics.join(Array(topic.name.utf8), of: topic.plugin, subject) }
  }

  /// Gives a subject the data that it kept when its past was erased, in the place of all its present data.
  package func give(kept entry: JournalEntry) throws(RequestError) {
    try forget(entry.subject)
    let subject = try subjects.fetchSubject(Array(entry.subject.utf8))
    let kept = WriteSet()
    let bytes = KeptEvent.records(in: entry.event)
    guard bytes.withView({ kept.append(records: $0) }) else {
      throw RequestError(.unavailable, "what the subject '\(entry.subject)' kept can't be read in the journal")
    }
    var terms = Board.Terms()
    var topics: [(plugin: [UInt8], name: [UInt8])] = []
    kept.forEach { write in
      guard case .put(let key, let value) = write else { return }
      switch try? ParsedKey(key) {
      case .timer(_, let plugin, let name): items.timers.give(value, name, of: plugin, subject: subject)
      case .membership(_, let plugin, let name): topics.append((Array(plugin), Array(name)))
      case .board: terms = Board.Terms(value) ?? terms
      case .daemon: context.steps.add(value)
      case .place(_, let plugin, let board, _):
        if let place = Place(value) { items.places.give(place, on: board, of: plugin, terms, subject) }
      default:
        if key.first == StoreKey.Kind.record.rawValue { subjects.setRecord(value, of: subject) }
        batches.current.writes.put(key, value)
      }
    }
    for topic in topics { try items.topics.join(topic.name, of: topic.plugin, subject) }
    subject.lastCommit = batches.current.number
  }

  package func forget(_ subject: String) throws(RequestError) {
    _ = try subject.withView { (name) throws(RequestError) in try forget(name) }
  }
}
