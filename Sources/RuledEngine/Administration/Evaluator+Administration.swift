package import RuledCore
import RuledJSON
import RuledJournal
import RuledStore

/// Shows, exports and erases the stored data of a subject.
extension Evaluator {
  /// Appends `{subject, version, plugins}` with the states of one plugin or of all.
  package func state(_ name: ByteView, plugin: ByteView?, into reply: ByteBuffer)
    throws(RequestError)
  {
    let subject = try subjects.fetchSubject(name)
    let record = try subjects.record(of: subject)
    guard try isFound(subject, record) else { throw Self.notFound(name) }
    if let plugin, record?.state(of: plugin) == nil {
      let wanted = plugin.text
      guard plugins.catalog.index(of: wanted) != nil else {
        throw RequestError(.notFound, "there is no plugin '\(wanted)'")
      }
    }
    var json = JSONWriter(reply)
    json.beginObject()
    json.member("subject", string: name)
    json.member("version", record?.version ?? 0)
    json.member("plugins")
    writeStates(record, of: subject, only: plugin, to: &json)
    json.endObject()
  }

  private func writeStates(
    _ record: SubjectRecordView?, of subject: Subject, only plugin: ByteView?, to json: inout JSONWriter
  ) {
    json.beginObject()
    record?.forEachPlugin { name, state in
      if let plugin, !plugin.elementsEqual(name) { return }
      json.member(named: name)
      json.raw { show(state, of: name, subject, to: $0) }
    }
    json.endObject()
  }

  /// Appends a plugin's state as the rules in force would see it now.
  func show(_ state: PluginState, of plugin: ByteView, _ subject: Subject, to buffer: ByteBuffer) {
    migration.show(state, of: plugin, subject: subject.name, now: context.clock.now.microseconds, to: buffer)
  }

  private static func notFound(_ subject: ByteView) -> RequestError {
    RequestError(.notFound, "nothing is held on the subject '\(subject.text)'")
  }

  /// Whether the subject has states, timers, `once` keys, effects to deliver, parked events, memberships or places on boards.
  private func isFound(_ subject: Subject, _ record: SubjectRecordView?) throws(RequestError) -> Bool {
    if record?.hasPlugins == true { return true }
    for kind in [StoreKey.Kind.timer, .effect, .parked, .membership] {
      let found = try batches.readAll(kind, of: subject.name)
      if !found.isEmpty { return true }
    }
    guard try onceKeys(of: subject.name).isEmpty else { return true }
    return try !items.places.all(of: subject, now: context.clock.now.microseconds).isEmpty
  }

  /// The subject's `once` keys that have not expired.
  private func onceKeys(of name: ByteView) throws(RequestError) -> [StoredPair] {
    let now = context.clock.now.microseconds
    return try batches.readAll(.once, of: name).filter { $0.value.withView { OnceKeys.isValid($0, at: now) } }
  }

  package func export(_ name: ByteView) throws(RequestError) -> JSONValue {
    let subject = try subjects.fetchSubject(name)
    let record = try subjects.record(of: subject)
    guard try isFound(subject, record) else { throw Self.notFound(name) }
    let states = ByteBuffer(capacity: 1024)
    var json = JSONWriter(states)
    writeStates(record, of: subject, only: nil, to: &json)
    return .object([
      "subject": .string(name.text), "version": .integer(Int64(record?.version ?? 0)),
      "plugins": (try? JSONValue(parsing: states.bytes)) ?? .object([:]),
      "timers": .array(try batches.readAll(.timer, of: subject.name).map(\.timer)),
      "once": .array(try onceKeys(of: subject.name).compactMap(\.once)),
      "effects": .array(try batches.readAll(.effect, of: subject.name).map(\.effect)),
      "parked": .array(try batches.readAll(.parked, of: subject.name).compactMap(\.parked)),
      "topics": .array(try batches.readAll(.membership, of: subject.name).compactMap(\.topic)),
      "boards": .array(
        try items.places.all(of: subject, now: context.clock.now.microseconds).map {
          ["board": .string("\($0.plugin)/\($0.board)"), "score": Place.json($0.score)]
        }),
      "events": .array(try memory.all(of: subject, record).compactMap(\.outcome)),
    ])
  }

  /// Erases all stored data of the subject, and returns the numbers of erased items.
  package func forget(_ name: ByteView) throws(RequestError) -> JSONValue {
    let subject = try subjects.fetchSubject(name)
    let record = try subjects.record(of: subject)
    var states: Int64 = 0
    record?.forEachPlugin { _, _ in states += 1 }
    let timers = try batches.readAll(.timer, of: subject.name)
    let effects = try batches.readAll(.effect, of: subject.name)
    let parked = try batches.readAll(.parked, of: subject.name)
    let events = try memory.all(of: subject, record)
    let boards = try batches.readAll(.place, of: subject.name)
    var others: [StoredPair] = []
    for kind in [.record, .earlierEvents, .outcomeIndex, .once] as [StoreKey.Kind] {
      others += try batches.readAll(kind, of: subject.name)
    }
    let messages = try batches.readAll(.message, of: subject.name)
    let mark = batches.current.mark
    do throws(RequestError) {
      try items.topics.leave(try batches.readAll(.membership, of: subject.name), subject)
    } catch {
      batches.rollBack(to: mark)
      throw error
    }
    // All reads are done: from here on nothing fails.
    batches.current.waitingTimers -= timers.count
    subject.pendingTimers = nil
    for timer in timers {
      timer.read { key, value in
        guard case .timer(_, let plugin, let name)? = key else { return }
        items.timers.removeIndex(of: value, name, of: plugin, subject: subject)
      }
    }
    // An inbox drops an erased message. If this batch is lost, the messages are given back and applied.
    for message in messages {
      message.read { key, _ in
        guard case .message(_, let sequence)? = key else { return }
        batches.current.delivered.append(.init(subject: Array(subject.name), sequence: sequence))
      }
    }
    delete(effects, parked, timers + events + others + messages)
    items.places.remove(boards.map(\.key), of: subject, now: context.clock.now.microseconds)
    subjects.setRecord(ByteView.empty, of: subject)
    subject.lastCommit = batches.current.number
    let isChange = record != nil || ![timers, effects, parked, events, boards].allSatisfy(\.isEmpty)
    if isChange { batches.current.changes.append(forgotten: name) }
    journal(forgetting: name, isSilent: !isChange)
    return .object([
      "subject": .string(name.text),
      "forgotten": .object([
        "state": .integer(states), "timers": .integer(Int64(timers.count)), "effects": .integer(Int64(effects.count)),
        "parked": .integer(Int64(parked.count)), "events": .integer(Int64(events.count)),
      ]),
    ])
  }

  private func delete(_ effects: [StoredPair], _ parked: [StoredPair], _ others: [StoredPair]) {
    let document = TapeDocument()
    for entry in parked {
      let plugin = entry.value.withView { document.plugin(of: $0) }
      batches.current.countParked(of: plugin ?? "", -1)
    }
    if !effects.isEmpty { batches.current.removesEffects = true }
    for entry in effects + parked + others { entry.key.withView { batches.current.writes.delete($0) } }
  }

  /// Erases a subject's past: remembered outcomes, effects and parked parts.
  ///
  /// Its states, `once` keys, timers, topics, places and messages stay.
  func forgetPast(_ name: ByteView) throws(RequestError) {
    let subject = try subjects.fetchSubject(name)
    guard let record = try subjects.record(of: subject) else { return }
    let (key, value) = (ByteBuffer(capacity: 320), ByteBuffer(capacity: 1024))
    StoreKey.record(name, into: key)
    SubjectRecord.writeHeader(version: record.version, until: RememberedUntil(), recent: [], into: value)
    value.append(record.plugins)
    let kept = WriteSet()
    kept.put(key.bytes, value.bytes)
    for kind in [.once, .timer, .membership] as [StoreKey.Kind] {
      for entry in try batches.readAll(kind, of: name) {
        entry.key.withView { key in entry.value.withView { kept.put(key, $0) } }
      }
    }
    try items.places.copy(of: subject, now: context.clock.now.microseconds, into: kept)
    try copySteps(of: record, into: kept)
    let effects = try batches.readAll(.effect, of: name)
    let parked = try batches.readAll(.parked, of: name)
    var others = try memory.all(of: subject, record)
    for kind in [.earlierEvents, .outcomeIndex] as [StoreKey.Kind] { others += try batches.readAll(kind, of: name) }
    // All reads are done: from here on nothing fails.
    let outcome = RememberedOutcome(
      version: record.version, revision: plugins.catalog.revisionText.bytes, decisions: .empty, effects: .empty,
      failures: .empty)
    delete(effects, parked, others)
    subjects.setRecord(value.bytes, of: subject)
    subject.lastCommit = batches.current.number
    batches.current.changes.append(forgotten: name)
    journal(forgetting: name, isSilent: false)
    batches.current.writes.put(key.bytes, value.bytes)
    batches.current.changes.append(outcome, of: name, id: .empty, type: ByteView(KeptEvent.type)) { _ in }
    journal(kept, of: name, outcome)
    withExtendedLifetime((key, value)) {}
  }

  /// Adds the steps that lead the states back to earlier versions: a replay may begin before the rules that made the states.
  private func copySteps(of record: SubjectRecordView, into kept: WriteSet) throws(RequestError) {
    var plugins: [[UInt8]] = []
    record.forEachPlugin { plugin, state in if state.version > 1 { plugins.append(Array(plugin)) } }
    for plugin in plugins {
      let (key, value) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: 4096))
      StoreKey.daemon(Array(StoreKey.stepsName.utf8) + plugin, into: key)
      defer { withExtendedLifetime((key, value)) {} }
      do throws(StoreError) {
        if try context.store.get(key.bytes, into: value) { kept.put(key.bytes, value.bytes) }
      } catch { throw error.requestError }
    }
  }

  /// Adds the kept records to the journal, after the erasure: a replay of the subject begins with them.
  private func journal(_ kept: WriteSet, of name: ByteView, _ outcome: RememberedOutcome) {
    guard context.journals.load(ordering: .relaxed) else { return }
    let (head, text) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: kept.byteCount * 4 / 3 + 512))
    let now = context.clock.now.microseconds
    EntryHead.write(.kept, at: now, now: now, into: head)
    EntryHead.write(outcome, into: head)
    for _ in 0..<3 { EntryHead.write(.empty, into: head) }
    KeptEvent.write(kept.records, of: name, into: text)
    batches.current.writes.journal(head.bytes, text.bytes)
    withExtendedLifetime((head, text, kept)) {}
  }

  /// Records the erasure in the journal, which may have entries of a subject that is not in the store.
  private func journal(forgetting name: ByteView, isSilent: Bool) {
    guard context.journals.load(ordering: .relaxed) else { return }
    let head = ByteBuffer(capacity: 16)
    let now = context.clock.now.microseconds
    EntryHead.write(.forget, isSilent: isSilent, at: now, now: now, into: head)
    batches.current.writes.journal(head.bytes, name)
    withExtendedLifetime(head) {}
  }
}

extension StoredPair {
  fileprivate var json: JSONValue { value.withView { try? JSONValue(parsing: $0) } ?? .null }

  fileprivate var timer: JSONValue {
    let value = json
    return read { key, _ in
      guard case .timer(_, let plugin, let name)? = key else { return value }
      return .members([
        "plugin": .string(plugin.text), "name": .string(name.text),
        "due": .string(Timestamp(microseconds: value["due"]?.intValue ?? 0).rfc3339), "type": value["type"] ?? .null,
        "data": value["data"] ?? .null, "every": value["every"],
      ])
    }
  }

  /// An effect as it is stored, but for the sequence by which the outbox tells when it was given up.
  fileprivate var effect: JSONValue {
    let value = json
    guard var effect = value.objectValue, var failed = effect["failed"]?.objectValue else { return value }
    failed["after"] = nil
    effect["failed"] = .object(failed)
    return .object(effect)
  }

  fileprivate var once: JSONValue? {
    read { key, value in
      guard case .once(_, let plugin, let name)? = key, name.first != 1 else { return nil }
      let expiry = StoredExpiry.read(value) ?? 0
      return [
        "plugin": .string(plugin.text), "key": .string(name.text),
        "expires": expiry == 0 ? .null : .string(Timestamp(microseconds: expiry).rfc3339),
      ]
    }
  }

  fileprivate var topic: JSONValue? {
    read { key, _ in
      guard case .membership(_, let plugin, let name)? = key else { return nil }
      return .string(plugin.text + "/" + name.text)
    }
  }

  fileprivate var outcome: JSONValue? {
    let text = ByteBuffer(capacity: 1024)
    read { key, value in
      guard case .outcome(_, let subject, let identity)? = key, let outcome = try? RememberedOutcome(value) else {
        return
      }
      let id = if case .plain(_, let id) = identity { id } else { outcome.id }
      OutcomeWriter.compose(outcome, of: subject, id: id, .none, to: text)
    }
    return try? JSONValue(parsing: text.bytes)
  }

  /// A parked part as `parked` lists it.
  var parked: JSONValue? {
    let value = json
    return read { key, _ in
      guard case .parked(let subject, let sequence)? = key else { return nil }
      return .members([
        "id": .string(ParkedKey(subject: Array(subject), sequence: sequence).text), "plugin": value["plugin"] ?? .null,
        "subject": .string(subject.text), "events": value["events"] ?? .array([]),
        "failure": value["failure"] ?? .null, "at": value["at"] ?? .null, "tries": value["tries"] ?? .integer(1),
        "damaged": value["damaged"],
      ])
    }
  }
}
