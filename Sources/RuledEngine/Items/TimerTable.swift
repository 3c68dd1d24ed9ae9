import RuledCore
import RuledJSON
import RuledJournal
import RuledStore

/// The timers that plugins set for subjects.
///
/// A timer has two keys: one by its name, which holds its event, and one by its due time, for the search for due timers.
final class TimerTable {
  /// The bounds of the timers that a plugin sets for an event.
  struct Bounds {
    /// The earliest due time, in microseconds; nil for any.
    let earliest: Int64?
    /// Whether the event is of a timer of this plugin.
    let isOwn: Bool
    /// Until when the next timer of a loop is due, in microseconds; nil if the event is of no timer.
    let soonest: Int64?
    /// How many timers in a row, each due so soon, led to the event of a timer; negative if each was another plugin's than the one before.
    let run: Int64
    /// Whether the plugin has so many timers for the subject that its timers are delayed.
    let isCrowded: Bool
    /// The call that moves the manual clock and has fired the timer from which the event follows, if there is one.
    let move: ClockMove?
  }

  /// How late a timer may fire and still be evaluated as of its due time, in microseconds.
  private static let grace: Int64 = 1_000_000

  private let context: EngineContext
  private let batches: BatchQueue
  private let plugins: WorkerPlugins
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)
  private let identity = ByteBuffer(capacity: 256)
  /// The timer that is firing; holds its event while that is evaluated.
  private let firing = TapeDocument()
  /// How many timers in a row led to it, as `Bounds.run`.
  private(set) var firingRun: Int64 = 0
  /// A stored timer of which only the due time is read.
  private let stored = TapeDocument()

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins) {
    self.context = context
    self.batches = batches
    self.plugins = plugins
  }

  /// When a plugin's timer is due, in microseconds; nil when there is none of that name.
  func due(_ name: ByteView, of plugin: String, subject: Subject) throws(RequestError) -> Int64? {
    guard try read(name, of: plugin, subject) else { return nil }
    return due(value.bytes)
  }

  func all(of subject: Subject) throws(RequestError) -> [DueTimer] {
    let isDurable = subject.lastCommit <= batches.durable
    return try batches.readAll(.timer, of: subject.name, inStoreAlone: isDurable).compactMap { entry in
      entry.read { key, value in
        guard case .timer(let name, let plugin, let timer)? = key, let due = due(value) else { return nil }
        return DueTimer(due: due, subject: Array(name), plugin: Array(plugin), name: Array(timer))
      }
    }
  }

  /// Sets a timer, in place of one of the same name; with a `schedule`, JSON that is not empty, it is set again whenever it fires.
  ///
  /// A timer that follows at once, and not from a timer of its plugin, has the hops and the `allowance` of a message.
  func set(
    _ name: ByteView, type: ByteView, data: ByteView, due seconds: Double, schedule: ByteView,
    of plugin: Catalog.Plugin, rule: Int, _ event: EventInput, subject: Subject, _ allowance: Allowance,
    _ bounds: Bounds, redacted: RedactedValues?
  ) throws(RequestError) {
    try cancel(name, of: plugin.name, subject: subject)
    let due = ConsequenceID.due(seconds)
    var json = beginText(name, of: plugin.nameBytes, type: type, event, due: due, data: data, every: schedule)
    if let soonest = bounds.soonest, due <= soonest {
      // Timers of plugins in turn count down: a timer that only answers the loop of another plugin is none of these.
      let run = bounds.isOwn ? max(bounds.run, 0) + 1 : min(bounds.run, 0) - 1
      json.member("run", run)
      if abs(run) >= TimerLoops.least || bounds.isCrowded { noteLoop(of: plugin, rule, subject, due: due) }
    }
    if !bounds.isOwn, event.hops >= Limits.messageHops, bounds.earliest == due {
      // As many events have followed from each other at once as messages may; the next chain begins with this timer.
      noteLoop(of: plugin, rule, subject, due: due)
    } else if !bounds.isOwn, due < event.now + context.timerStep {
      json.member("hops", event.hops + 1)
      allowance.write(to: &json)
    }
    redacted?.note(with: data, name: name, to: &json)
    json.endObject()
    write(name, due: due, of: plugin.name, subject)
    subject.mostTimers? += 1
    noteSet(
      DueTimer(due: due, subject: Array(subject.name), plugin: Array(plugin.nameBytes), name: Array(name)),
      of: bounds.move)
  }

  /// Begins the text of a timer in `value`; its caller ends it.
  private func beginText(
    _ name: ByteView, of plugin: ByteView, type: ByteView, _ event: EventInput, due: Int64, data: ByteView,
    every schedule: ByteView
  ) -> JSONWriter {
    let id = ConsequenceID.timer(name, due: due, of: plugin, event, using: identity)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    json.member("due", due)
    json.member("type", string: type)
    json.member("subject", string: event.subject)
    json.member("id")
    json.string(plain: id.write(to:))
    json.member("source", string: event.source)
    json.member("data", raw: data)
    if !schedule.isEmpty { json.member("every", raw: schedule) }
    return json
  }

  /// Notes a timer that was set for the calls that move a manual clock, and the one from whose timers it follows.
  private func noteSet(_ timer: @autoclosure () -> DueTimer, of move: ClockMove?) {
    if context.clock.isManual { context.clockMoves.note(timer(), of: move) }
  }

  /// Adds the timer in `value` to the batch.
  private func write(_ name: some KeyPart, due: Int64, of plugin: some KeyPart, _ subject: Subject) {
    let batch = batches.current
    writeKey(name, of: plugin, subject)
    batch.writes.put(key.bytes, value.bytes)
    writeIndexKey(due, name, of: plugin, subject)
    batch.writes.put(key.bytes, ByteView.empty)
    batch.earliestTimer = min(batch.earliestTimer ?? due, due)
    batch.waitingTimers += 1
    subject.pendingTimers?.insert(name.partBytes, of: plugin.partBytes)
    subject.lastCommit = batch.number
  }

  /// Sets a timer as it was stored.
  func give(_ stored: ByteView, _ name: ByteView, of plugin: ByteView, subject: Subject) {
    guard let due = due(stored) else { return }
    value.removeAll()
    value.append(stored)
    write(name, due: due, of: plugin, subject)
    subject.mostTimers = nil
  }

  func give(_ given: GivenSubject.Timer, subject: Subject) throws(RequestError) {
    let (plugin, name) = (given.plugin, given.name)
    if try read(name, of: plugin, subject) {
      batches.current.waitingTimers -= 1
      removeIndex(of: value.bytes, name, of: plugin, subject: subject)
    }
    value.removeAll()
    let id = given.id.map(JSONValue.string) ?? .string("timer \(given.name) of \(given.plugin)")
    JSONValue.members([
      "due": .integer(given.due.microseconds), "type": .string(given.type),
      "subject": .string(subject.name.text), "id": id,
      "source": .string(given.source ?? "/"), "data": given.data, "every": given.every,
    ]).write(to: value)
    write(name, due: given.due.microseconds, of: plugin, subject)
    subject.mostTimers = nil
  }

  /// The next time of a repeating timer that fires, in microseconds; missed times are left out.
  ///
  /// It depends on nothing but the schedule, when the timer was due, and `now()` of its event.
  private func next(_ schedule: JSONValue, due: Int64, now: Int64) throws(RequestError) -> Int64 {
    do throws(CalendarError) {
      let after = max(now, due + context.timerStep - 1)
      return try Schedule(schedule).next(after: after, from: due, in: plugins.zones)
    } catch { throw RequestError(.unavailable, "the timer's next time is not known: \(error.message)") }
  }

  /// Sets a repeating timer again when it fires.
  private func setAgain(_ timer: DueTimer, _ event: EventInput, due next: Int64, _ subject: Subject) {
    var json = timer.plugin.withView { plugin in
      timer.name.withView { name in
        beginText(
          name, of: plugin, type: event.type, event, due: next, data: event.storedData,
          every: event.text.rawMember("every"))
      }
    }
    RedactedValues.copy(of: event.text, to: &json)
    json.endObject()
    write(timer.name, due: next, of: timer.plugin, subject)
  }

  /// The names of a plugin's pending timers for the subject; nil if the subject has fewer than `least`, of all plugins.
  func names(
    of plugin: Catalog.Plugin, _ subject: Subject, ifAtLeast least: Int
  ) throws(RequestError) -> Set<[UInt8]>? {
    // A subject without a record has nothing.
    if subject.mostTimers == nil, subject.record.isEmpty { subject.mostTimers = 0 }
    if let most = subject.mostTimers, most < least { return nil }
    if subject.pendingTimers?.rollBacks != batches.rollBacks {
      subject.pendingTimers = PendingTimers(try all(of: subject), rollBacks: batches.rollBacks)
    }
    subject.mostTimers = subject.pendingTimers?.count
    guard let pending = subject.pendingTimers, pending.count >= least else {
      subject.pendingTimers = nil
      return nil
    }
    return pending.names(of: Array(plugin.nameBytes))
  }

  private func noteLoop(of plugin: Catalog.Plugin, _ rule: Int, _ subject: Subject, due: Int64) {
    let rules = plugin.manifest.rules
    let rule = rules.indices.contains(rule) ? rules[rule].name : ""
    guard
      context.timerLoops.note(plugin.name, rule: rule, subject: subject.name, due: due, step: context.timerStep)
    else { return }
    context.log.write(
      LogLine(
        .warn, "a rule sets timers in a loop: the event of one sets the next, as early as may be",
        plugin: plugin.name, rule: rule, subjectHash: LogLine.hash(of: subject.name)))
  }

  func cancel(_ name: ByteView, of plugin: String, subject: Subject) throws(RequestError) {
    guard try read(name, of: plugin, subject) else { return }
    batches.current.writes.delete(key.bytes)
    batches.current.waitingTimers -= 1
    subject.pendingTimers?.remove(Array(name), of: Array(plugin.utf8))
    removeIndex(of: value.bytes, name, of: plugin, subject: subject)
    subject.lastCommit = batches.current.number
  }

  func removeAll(of plugin: String, subject: Subject) throws(RequestError) {
    let prefix = StoreKey.prefix(.timer, of: subject.name, plugin: plugin)
    subject.pendingTimers = nil
    for timer in try batches.readAll(prefix: prefix, of: subject.name) {
      batches.current.waitingTimers -= 1
      timer.key.withView { batches.current.writes.delete($0) }
      timer.value.withView { value in
        removeIndex(of: value, Array(timer.key[prefix.count...]), of: plugin, subject: subject)
      }
    }
    subject.lastCommit = batches.current.number
  }

  /// Removes a stored timer's key by its due time.
  func removeIndex(of timer: ByteView, _ name: some KeyPart, of plugin: some KeyPart, subject: Subject) {
    guard let due = due(timer) else { return }
    writeIndexKey(due, name, of: plugin, subject)
    batches.current.writes.delete(key.bytes)
  }

  /// Removes a timer that is due, which `move` fires if that moves a manual clock.
  ///
  /// - Returns: the timer's event, valid until the next call; nil when the timer was cancelled or set anew since it was found due.
  func take(_ timer: DueTimer, of subject: Subject, _ move: ClockMove?) throws(RequestError) -> EventInput? {
    var event: EventInput?
    var next: Int64?
    if try read(timer.name, of: timer.plugin, subject) {
      guard let stored = try? firing.parse(copyOf: value.bytes), let due = stored.member("due")?.integer else {
        throw batches.unreadable(
          key.bytes, of: subject.name, StoreError(.corrupt, "a timer's value has another form"), malformed: true)
      }
      context.clearDamage(key.bytes, malformed: true)
      if due == timer.due {
        let fired = firingEvent(stored, due: due)
        if let schedule = stored.member("every") { next = try self.next(JSONValue(schedule), due: due, now: fired.now) }
        batches.current.writes.delete(key.bytes)
        batches.current.waitingTimers -= 1
        subject.pendingTimers?.remove(timer.name, of: timer.plugin)
        event = fired
      }
    }
    writeIndexKey(timer.due, timer.name, of: timer.plugin, subject)
    batches.current.writes.delete(key.bytes)
    subject.lastCommit = batches.current.number
    if let event, let next {
      setAgain(timer, event, due: next, subject)
      noteSet(DueTimer(due: next, subject: timer.subject, plugin: timer.plugin, name: timer.name), of: move)
    }
    return event
  }

  private func firingEvent(_ stored: TapeValue, due: Int64) -> EventInput {
    let now = context.clock.now.microseconds
    var event = EventInput(stored: stored, text: firing.text, now: now - due > Self.grace ? now : due, origin: .timer)
    event.time = due
    firingRun = stored.member("run")?.integer ?? 0
    return event
  }

  /// Reads a stored timer into `value`, its key into `key`; false when there is none.
  private func read(_ name: some KeyPart, of plugin: some KeyPart, _ subject: Subject) throws(RequestError) -> Bool {
    writeKey(name, of: plugin, subject)
    return try batches.read(key.bytes, of: subject, into: value)
  }

  private func due(_ timer: ByteView) -> Int64? {
    (try? stored.parse(copyOf: timer))?.member("due")?.integer
  }

  private func writeKey(_ name: some KeyPart, of plugin: some KeyPart, _ subject: Subject) {
    StoreKey.named(.timer, subject.name, plugin: plugin, name: name, into: key)
  }

  private func writeIndexKey(_ due: Int64, _ name: some KeyPart, of plugin: some KeyPart, _ subject: Subject) {
    StoreKey.timerIndex(due: due, subject.name, plugin: plugin, name: name, into: key)
  }
}
