import RuledCore
import RuledJSON
import RuledJournal
import RuledLua
import RuledStore

extension EventTransaction {
  /// Adds all changes of the event to the current batch, or nothing if the store fails.
  ///
  /// - Parameters:
  ///   - outcome: the outcome, which is remembered if a client sent the event.
  ///   - subject: the event's subject.
  ///   - identity: the event's hash in its subject's history.
  ///   - cascade: the cascade that waits for the messages of the event.
  /// - Throws: when the store fails.
  func addToBatch(
    _ outcome: RememberedOutcome, of subject: Subject, identity: UInt64, cascade: Cascade?
  ) throws(RequestError) {
    let mark = batches.current.mark
    consequences = 0
    recorder?.beginCommit()
    do throws(RequestError) {
      if event.origin == .client {
        try memory.remember(outcome, of: event, identity: identity, subject: subject, record: record, history: &history)
      } else {
        memory.readHistory(of: record, into: &history)
      }
      for index in touched.indices { try addPart(of: runs[touched[index]], subject, cascade) }
    } catch {
      batches.rollBack(to: mark)
      throw error
    }
    writeRecord(of: subject, version: outcome.version)
    let plugins = isWatchable ? noteChange(outcome) : nil
    if context.journals.load(ordering: .relaxed) { journal(outcome, plugins) }
    recorder?.note(outcome, of: self)
  }

  /// Adds the operations of a plugin's rules, or parks the event for it if it failed.
  private func addPart(of run: PluginRun, _ subject: Subject, _ cascade: Cascade?) throws(RequestError) {
    if run.hasFailed { return park(run, subject) }
    if !run.operations.isDisjoint(with: .written), let vm = run.plugin.vm {
      if !run.operations.isDisjoint(with: .consequences) { noteConsequences(vm.operations, of: run.loaded) }
      try items.applyOperations(
        vm.operations, of: run.plugin, event, subject: subject,
        allowance: run.sends + run.immediateTimers > 0 ? allowanceOfEach : .none,
        timers: timerBounds(of: run.loaded, cascade),
        cascade: cascade, redacted: run.operations.isDisjoint(with: .consequences) ? nil : redactedValues)
    }
    if run.operations.contains(.count) {
      recorder?.note(run.counts, of: run.loaded.name)
      run.counts.move(to: batches, of: run.loaded)
    }
  }

  /// Parks a failed plugin's part: all events that it has seen, and why it failed.
  private func park(_ run: PluginRun, _ subject: Subject) {
    guard let failure = run.failure else { return }
    parked.park(failure, on: event, of: subject) { json in
      for index in run.seen {
        let seen = queue[index]
        json.raw { buffer in
          if seen.origin == .sent {
            event.writeAsSent(to: buffer)
          } else {
            event.write(
              type: queue.type(of: seen), data: queue.data(of: seen), isRaised: true, redacted: redactedValues,
              to: buffer)
          }
        }
      }
    }
  }

  var redactedValues: RedactedValues? {
    context.redaction?.values(in: event.text, isFromClient: event.origin.isFromClient)
  }

  /// Adds the messages and timers of a plugin to the digest of the event's consequences.
  private func noteConsequences(_ operations: Operations, of plugin: Catalog.Plugin) {
    var hash = hash64(plugin.nameBytes, seed: consequences)
    for index in operations.indices where !operations.isVoid(at: index) {
      switch operations[index] {
      case .send(let target, let type, let data):
        hash = hash64(data, seed: hash64(type, seed: hash64(target, seed: hash)))
      case .publish(let topic, let type, let data, let except):
        hash = hash64(data, seed: hash64(type, seed: hash64(except, seed: hash64(topic, seed: hash &+ 3))))
      case .joinTopic(let name): hash = hash64(name, seed: hash &+ 4)
      case .leaveTopic(let name): hash = hash64(name, seed: hash &+ 5)
      case .setTimer(let name, let type, let data, let due, let schedule):
        hash = hash64(data, seed: hash64(type, seed: hash64(name, seed: hash ^ due.bitPattern)))
        if !schedule.isEmpty { hash = hash64(schedule, seed: hash) }
      case .cancelTimer(let name): hash = hash64(name, seed: hash &+ 1)
      case .forget: hash = hash64(plugin.nameBytes, seed: hash &+ 2)
      default: break
      }
    }
    consequences = hash | 1
  }

  private func timerBounds(of plugin: Catalog.Plugin, _ cascade: Cascade?) -> TimerTable.Bounds {
    let isOwn = timer.map { self.isOwn($0, of: plugin) } ?? false
    let earliest = earliestTimer(of: plugin)
    let soonest = timer.map { max($0.due + context.timerStep, event.now) }
    return TimerTable.Bounds(
      earliest: earliest, isOwn: isOwn, soonest: isOwn ? earliest : soonest, run: items.timers.firingRun,
      isCrowded: isOwn && firingCrowd(of: plugin) >= Limits.crowdedTimers, move: cascade?.move)
  }

  /// The allowance of each message that the event sends, and of each timer that follows like a message.
  private var allowanceOfEach: Allowance {
    var sends = 0, timers = 0, publications = 0
    forEachTouched { run in
      guard !run.hasFailed else { return }
      sends += run.sends
      timers += run.immediateTimers
      publications += run.publications
    }
    let parts = sends + timers
    guard parts > 0 else { return .none }
    return Allowance(messages: (event.maySend - sends) / parts, publications: (event.mayPublish - publications) / parts)
  }

  // MARK: Record

  /// Writes the subject's record: the plugins' states in order of name, the new ones in place of the old ones.
  private func writeRecord(of subject: Subject, version: UInt64) {
    nextRecord.removeAll()
    SubjectRecord.writeHeader(version: version, until: history.until, recent: history.recent, into: nextRecord)
    var next = 0
    record?.forEachPlugin { name, state in
      while let index = firstDone(from: next) {
        let order = withRun(of: touched[index]) { ByteOrder.compare($0.loaded.nameBytes, name) }
        next = order <= 0 ? index + 1 : index
        if order <= 0 { writeState(of: touched[index]) }
        if order == 0 { return }
        if order > 0 { break }
      }
      SubjectRecord.writePlugin(name, state: state.bytes, into: nextRecord)
    }
    while let index = firstDone(from: next) {
      writeState(of: touched[index])
      next = index + 1
    }
    subjects.setRecord(nextRecord.bytes, of: subject)
    subject.lastCommit = batches.current.number
    StoreKey.record(subject.name, into: key)
    batches.current.writes.put(key.bytes, nextRecord.bytes)
  }

  /// The index in `touched` of the first plugin from `start` on that has a new state.
  private func firstDone(from start: Int) -> Int? {
    var index = start
    while index < touched.count {
      if withRun(of: touched[index], { $0.isDone }) { return index }
      index += 1
    }
    return nil
  }

  private func writeState(of plugin: Int) {
    withRun(of: plugin) { run in
      let state = run.state(in: self)
      // An empty table is no state.
      guard state.count > 2 else { return }
      let plugin = run.loaded
      SubjectRecord.writePlugin(plugin.nameBytes, state: state, version: plugin.stateVersion, into: nextRecord)
    }
  }

  // MARK: Journal

  /// Adds the journal's data beside the writes: for a client's event hardly more than its bytes, as the outcome is among the writes.
  ///
  /// `plugins` is the range of the plugins' names in the change for watchers.
  private func journal(_ outcome: RememberedOutcome, _ plugins: Range<Int>?) {
    journalHead.removeAll()
    let at = event.origin == .timer ? context.clock.now.microseconds : event.now
    EntryHead.write(
      event.origin.recorded, lacksID: event.lacksID, at: at, now: event.now,
      consequences: UInt32(truncatingIfNeeded: consequences), into: journalHead)
    if event.origin != .client {
      EntryHead.write(outcome, into: journalHead)
      if let timer {
        timer.plugin.withView { EntryHead.write($0, into: journalHead) }
        timer.name.withView { EntryHead.write($0, into: journalHead) }
      } else {
        let retried = retriedPlugin.map { self.plugins.all[$0].loaded.nameBytes }
        EntryHead.write(retried ?? .empty, into: journalHead)
        EntryHead.write(.empty, into: journalHead)
      }
    }
    if let plugins { EntryHead.write(batches.current.changes.bytes.bytes.extracting(plugins), into: journalHead) }
    batches.current.writes.journal(journalHead.bytes, event.text)
  }

  // MARK: Watchers

  /// Adds the change for watchers; returns the range of the plugins' names in it.
  private func noteChange(_ outcome: RememberedOutcome) -> Range<Int> {
    batches.current.changes.append(outcome, of: event.subject, id: event.id, type: event.type) { bytes in
      let start = bytes.count
      forEachTouched { run in
        guard !run.hasFailed else { return }
        if bytes.count > start { bytes.append(UInt8(ascii: ",")) }
        bytes.append(run.loaded.quotedName)
      }
    }
  }
}

extension EventInput {
  /// Appends the event as it was sent, with the id and the time that the daemon gave it where it had none.
  fileprivate func writeAsSent(to buffer: ByteBuffer) {
    guard var object = (try? JSONValue(parsing: text))?.objectValue else {
      buffer.append(text)
      return
    }
    object["id"] = .string(id.text)
    if object["time"]?.stringValue == nil { object["time"] = .string(Timestamp(microseconds: time).rfc3339) }
    let instructions =
      origin.isFromClient
      ? ["explain", "wait", "dryrun", "internal"]
      : ["hops", "from", "due", "may_send", "may_publish", "sent_by", "run", "every"]
    for name in instructions { object[name] = nil }
    // A retry has the origin of the first time.
    object["origin"] = origin.isFromClient ? nil : .string(originText.text)
    object["sender"] = sender.isEmpty ? nil : .string(sender.text)
    JSONValue.object(object).write(to: buffer)
  }
}
