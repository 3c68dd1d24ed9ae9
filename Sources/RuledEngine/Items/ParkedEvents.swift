package import RuledCore
import RuledJSON
import RuledStore

/// The events that plugins failed on, one entry for each event and plugin: parked until they are retried with success or dropped.
final class ParkedEvents {
  private let context: EngineContext
  private let batches: BatchQueue
  private let subjects: SubjectCache
  private let plugins: WorkerPlugins
  private let messages: MessageTable
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)

  init(
    _ context: EngineContext, batches: BatchQueue, subjects: SubjectCache, plugins: WorkerPlugins,
    messages: MessageTable
  ) {
    self.context = context
    self.batches = batches
    self.subjects = subjects
    self.plugins = plugins
    self.messages = messages
  }

  // MARK: Parking

  /// Parks the part of a plugin that failed on an event; `events` writes all events that it has seen.
  func park(_ failure: Failure, on event: EventInput, of subject: Subject, events: (inout JSONWriter) -> Void) {
    write(sequence: context.nextSequence(), failure: failure, event: event, of: subject, events: events)
  }

  /// Parks a message whose plugin must not run, under the message's own number: so the messages of a subject keep their order.
  func park(
    _ message: MessageTable.StoredMessage, plugin name: String, reason: String, of subject: Subject, sequence: UInt64
  ) {
    let failure = Failure(plugin: name, kind: .error, message: reason)
    write(sequence: sequence, failure: failure, event: message.event, of: subject) { json in
      json.raw { buffer in
        message.event.write(
          type: message.event.type, data: message.data, redacted: messages.redactedValues(in: message.event), to: buffer
        )
      }
    } more: { json in
      json.member("message_from", string: message.from)
      if let publication = message.publication {
        json.member("topic", string: publication.topic)
        json.member("published", publication.number)
      }
    }
  }

  /// Parks the bytes of a message that can't be read, for an operator.
  func park(damaged bytes: [UInt8], of subject: Subject, sequence: UInt64) {
    let failure = Failure(
      plugin: "", kind: .error,
      message:
        "a message of \(bytes.count) bytes could not be read: its stored bytes are damaged. It is kept here; drop it"
    )
    var event = EventInput.none
    event.subject = subject.name
    event.now = context.clock.now.microseconds
    write(sequence: sequence, failure: failure, event: event, of: subject) { _ in
    } more: { json in
      json.member("damaged")
      json.string(plain: { buffer in
        for byte in bytes { buffer.append(hex: byte) }
      })
    }
    context.damagedMessages.wrappingAdd(1, ordering: .relaxed)
    context.log.write(
      LogLine(.error, "a message that can't be read was set aside: see parked events without a plugin", plugin: ""))
  }

  /// Adds a parked part to the batch, with the time and the allowance of `event`.
  private func write(
    sequence: UInt64, failure: Failure, tries: Int64 = 1, event: EventInput, of subject: Subject,
    events: (inout JSONWriter) -> Void, more: (inout JSONWriter) -> Void = { _ in }
  ) {
    if tries == 1 { batches.current.countParked(of: failure.plugin, 1) }
    writeKey(sequence, of: subject)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    json.member("plugin", failure.plugin)
    if let plugin = plugins.catalog.plugin(failure.plugin) { json.member("rules", plugin.digest) }
    json.member("events")
    json.beginArray()
    events(&json)
    json.endArray()
    json.member("failure")
    json.value(failure.json)
    json.member("at", Timestamp(microseconds: event.now))
    json.member("tries", tries)
    json.member("hops", event.hops)
    Allowance(messages: event.maySend, publications: event.mayPublish).write(to: &json)
    more(&json)
    json.endObject()
    batches.current.writes.put(key.bytes, value.bytes)
    subject.lastCommit = batches.current.number
  }

  private func writeKey(_ sequence: UInt64, of subject: Subject) {
    StoreKey.numbered(.parked, subject.name, sequence, into: key)
  }

  // MARK: Retrying

  /// Tries a parked part again and removes it if that succeeds; nil when it is gone.
  ///
  /// `evaluate` runs the plugin of that index on the events. It returns why the plugin failed again; nil when its work has joined the batch.
  func retry(
    _ parked: ParkedKey,
    evaluate: (EventInput, _ further: ArraySlice<JSONValue>, Subject, _ plugin: Int) throws(RequestError) -> Failure?
  ) throws(RequestError) -> RetryResult? {
    let subject = try subjects.fetchSubject(parked.subject)
    guard let entry = try read(parked, of: subject) else { return nil }
    guard let first = entry.events.first else {
      return entry.json["failure"].flatMap { Failure(json: $0) }.map { .failed($0) }  // a damaged message
    }
    guard let index = plugins.catalog.index(of: entry.plugin) else {
      return .failed(
        Failure(plugin: entry.plugin, kind: .error, message: "there is no plugin '\(entry.plugin)' any more"))
    }
    let document = TapeDocument()
    let text = ByteBuffer(capacity: 512)
    first.write(to: text)
    guard let object = try? document.parse(copyOf: text.bytes) else { return nil }
    var event = EventInput(stored: object, text: document.text, now: context.clock.now.microseconds, origin: .retry)
    event.hops = Int(entry.json["hops"]?.intValue ?? 0)
    event.maySend =
      entry.json["may_send"]?.intValue.map { Int($0) }
      ?? (event.hops == 0 ? Limits.messagesPerCascade : Limits.messagesPerOldMessage)
    event.mayPublish = entry.json["may_publish"]?.intValue.map { Int($0) } ?? event.mayPublish
    let mark = batches.current.mark
    batches.current.writes.delete(key.bytes)
    batches.current.countParked(of: entry.plugin, -1)
    subject.lastCommit = batches.current.number
    if entry.json["message_from"] != nil {
      messages.resend(
        event, data: event.storedData, parked: entry.json, of: plugins.all[index], to: subject,
        sequence: parked.sequence)
      return .succeeded
    }
    let failure: Failure?
    do throws(RequestError) {
      failure = try evaluate(event, entry.events.dropFirst(), subject, index)
    } catch {
      batches.rollBack(to: mark)
      throw error
    }
    guard let failure else { return .succeeded }
    batches.rollBack(to: mark)
    let tries = (entry.json["tries"]?.intValue ?? 1) + 1
    write(sequence: parked.sequence, failure: failure, tries: tries, event: event, of: subject) { json in
      for event in entry.events { json.raw(event.write(to:)) }
    }
    return .failed(failure)
  }

  /// Removes a parked part; false when it is gone.
  func drop(_ parked: ParkedKey) throws(RequestError) -> Bool {
    let subject = try subjects.fetchSubject(parked.subject)
    writeKey(parked.sequence, of: subject)
    guard try batches.read(key.bytes, of: subject, into: value) else { return false }
    let plugin = TapeDocument().plugin(of: value.bytes) ?? ""
    if plugin.isEmpty, context.damagedMessages.load(ordering: .relaxed) > 0 {
      context.damagedMessages.wrappingSubtract(1, ordering: .relaxed)
    }
    batches.current.countParked(of: plugin, -1)
    batches.current.writes.delete(key.bytes)
    subject.lastCommit = batches.current.number
    return true
  }

  /// The parts of a subject that are parked for one plugin and whose first event has the id of `event`, the first parked first; if one of them has
  /// the very same event, that part alone.
  func parts(of subject: Subject, plugin: String, event: JSONValue) throws(RequestError) -> [ParkedKey] {
    var same: [ParkedKey] = []
    let all: [ParkedKey] = try batches.readAll(.parked, of: subject.name).compactMap { entry in
      guard let json = try? JSONValue(parsing: entry.value.text),
        json["plugin"]?.stringValue == plugin, let first = json["events"]?.arrayValue?.first,
        first["id"] == event["id"], json["message_from"] == nil
      else { return nil }
      return entry.read { key, _ in
        guard case .parked(let name, let sequence)? = key else { return nil }
        let key = ParkedKey(subject: Array(name), sequence: sequence)
        if first == event { same.append(key) }
        return key
      }
    }
    return same.isEmpty ? all : same
  }

  /// Reads a parked part; `key` then holds its key.
  private func read(
    _ parked: ParkedKey, of subject: Subject
  ) throws(RequestError) -> (json: JSONValue, events: [JSONValue], plugin: String)? {
    writeKey(parked.sequence, of: subject)
    guard try batches.read(key.bytes, of: subject, into: value) else { return nil }
    guard let json = try? JSONValue(parsing: value.bytes), let events = json["events"]?.arrayValue,
      let plugin = json["plugin"]?.stringValue
    else {
      throw batches.unreadable(
        key.bytes, of: subject.name, StoreError(.corrupt, "a parked event's value has another form"), malformed: true)
    }
    return (json, events, plugin)
  }
}

package enum RetryResult: Sendable {
  case succeeded
  /// It failed again, and the events stay parked.
  case failed(Failure)
}
