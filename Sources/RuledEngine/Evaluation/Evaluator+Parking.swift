package import RuledCore
import RuledLua
import RuledStore

/// What a plugin failed on is kept for it until it can be done, or is dropped.
extension Evaluator {
  /// Adds the failed plugin's part of the event to the batch.
  func park(_ plugin: Int, _ event: EventInput) {
    guard let failure = turns[plugin].failure, let subject else { return }
    writeParked(
      sequence: context.nextSequence(), failure: failure, tries: 1, like: event, subject: subject
    ) { buffer in
      for (index, seen) in turns[plugin].seen.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        if seen.isEmpty { writeSent(event, to: buffer) } else { buffer.append(slice(seenTexts, seen)) }
      }
    }
  }

  /// Appends the event as it was sent, with what the daemon added to it: an id and a time, where it had none.
  private func writeSent(_ event: EventInput, to buffer: ByteBuffer) {
    guard var object = (try? JSONValue(parsing: event.text))?.objectValue else {
      buffer.append(event.text)
      return
    }
    object["id"] = .string(String(decoding: event.id, as: UTF8.self))
    if object["time"]?.stringValue == nil { object["time"] = .string(Timestamp(microseconds: event.time).rfc3339) }
    let instructions =
      event.origin == .client ? ["explain", "wait", "dryrun"] : ["hops", "from", "due", "may_send", "sent_by"]
    for name in instructions { object[name] = nil }
    JSONValue.object(object).write(to: buffer)
  }

  /// Writes a parked part or message, as of the time of `event`, and what may follow from it as of `event`, too.
  func writeParked(
    sequence: UInt64, failure: Failure, tries: Int64, like event: EventInput, subject: Subject,
    events: (ByteBuffer) -> Void, more: (ByteBuffer) -> Void = { _ in }
  ) {
    key.removeAll()
    StoreKey.parked(subject.name, sequence: sequence, into: key)
    value.removeAll()
    value.append("{\"plugin\":" as StaticString)
    value.append(jsonString: failure.plugin)
    value.append(",\"events\":[" as StaticString)
    events(value)
    value.append("],\"failure\":" as StaticString)
    failure.write(to: value)
    value.append(",\"at\":\"" as StaticString)
    Timestamp(microseconds: event.now).write(to: value)
    value.append("\",\"tries\":" as StaticString)
    value.append(decimal: tries)
    value.append(",\"hops\":" as StaticString)
    value.append(decimal: Int64(event.hops))
    value.append(",\"may_send\":" as StaticString)
    value.append(decimal: Int64(event.maySend))
    more(value)
    value.append(UInt8(ascii: "}"))
    batch.writes.put(key.bytes, value.bytes)
    subject.lastCommit = batch.number
  }

  // MARK: Retrying

  /// Tries a parked part again; nil when it is gone, else the failure it came to, or success.
  package func retry(_ parked: ParkedKey) throws(RequestError) -> RetryResult? {
    let subject = try findSubject(named: parked.subject)
    key.removeAll()
    StoreKey.parked(parked.subject, sequence: parked.sequence, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return nil }
    guard let entry = try? JSONValue(parsing: value.bytes), let events = entry["events"]?.arrayValue,
      let name = entry["plugin"]?.stringValue
    else {
      throw damaged(
        key.bytes, of: subject.name, StoreError(.corrupt, "a parked event's value has another form"), malformed: true)
    }
    guard let first = events.first else {
      return entry["failure"].flatMap { Failure(json: $0) }.map { .failed($0) }  // a damaged message
    }
    guard let plugin = catalog.index(of: name) else {
      return .failed(Failure(plugin: name, kind: .error, message: "there is no plugin '\(name)' any more"))
    }
    let mark = batch.mark
    batch.writes.delete(key.bytes)
    subject.lastCommit = batch.number
    let document = EventDocument()
    let text = ByteBuffer(capacity: 512)
    first.write(to: text)
    guard document.parse(text.bytes) else { return nil }
    var event = document.event(now: context.clock.now.microseconds)
    event.hops = Int(entry["hops"]?.intValue ?? 0)
    event.maySend =
      entry["may_send"]?.intValue.map { Int($0) }
      ?? (event.hops == 0 ? Limits.messagesPerCascade : Limits.messagesPerOldMessage)
    if entry["message_from"] != nil {
      retryMessage(entry, event, data: document.text(of: "data"), of: plugin, subject, sequence: parked.sequence)
      return .succeeded
    }
    retried = events.dropFirst().map { Array($0.text.utf8) }
    resumes = plugin
    defer {
      retried = []
      resumes = nil
    }
    let record = try view(subject)
    let outcome = ByteBuffer(capacity: 256)
    failedRetry = nil
    do throws(RequestError) {
      try evaluate(event, identity: 0, subject: subject, record: record, cascade: nil, only: plugin, into: outcome)
    } catch {
      rollBack(to: mark)
      throw error
    }
    guard let failure = failedRetry else { return .succeeded }
    rollBack(to: mark)
    let tries = (entry["tries"]?.intValue ?? 1) + 1
    writeParked(
      sequence: parked.sequence, failure: failure, tries: tries, like: event, subject: subject
    ) { buffer in
      for (index, event) in events.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        event.write(to: buffer)
      }
    }
    return .failed(failure)
  }

  /// Gives a parked part up; false when it is gone.
  package func drop(_ parked: ParkedKey) throws(RequestError) -> Bool {
    let subject = try findSubject(named: parked.subject)
    key.removeAll()
    StoreKey.parked(parked.subject, sequence: parked.sequence, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return false }
    if messageDocument.plugin(of: value.bytes) == "", context.damagedMessages.load(ordering: .relaxed) > 0 {
      context.damagedMessages.wrappingSubtract(1, ordering: .relaxed)
    }
    batch.writes.delete(key.bytes)
    subject.lastCommit = batch.number
    return true
  }
}

/// What came of a retry.
package enum RetryResult: Sendable {
  /// The plugin handled the events.
  case succeeded
  /// It failed again, and the events stay parked.
  case failed(Failure)
}

/// Which parked part is meant: its id in the protocol is the number in hexadecimal, a dash, and the subject.
package struct ParkedKey: Sendable, Equatable {
  /// The subject.
  package let subject: [UInt8]
  /// Its number.
  package let sequence: UInt64

  /// A parked part.
  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }

  /// The part that an id names.
  package init?(id: String) {
    guard let dash = id.firstIndex(of: "-"), let sequence = UInt64(id[..<dash], radix: 16) else { return nil }
    self.init(subject: Array(id[id.index(after: dash)...].utf8), sequence: sequence)
  }

  /// The id.
  package var id: String { String(sequence, radix: 16) + "-" + String(decoding: subject, as: UTF8.self) }
}
