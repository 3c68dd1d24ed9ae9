import CLuaBridge
package import RuledCore
import RuledLua
import RuledStore

/// Messages between subjects: sent with a commit, applied by another, or parked when their plugin must not go on.
extension Evaluator {
  // MARK: Sending

  /// Throws when the plugin sends more messages than it may: for one event, or as a part of what follows from one.
  func checkMessages(_ sends: Int, of turn: Turn, _ event: EventInput) throws(Failure) {
    guard sends <= Limits.messagesPerEvent else {
      throw Failure(
        plugin: turn.entry.name, kind: .value,
        message: "\(sends) messages are sent for one event; a plugin may send \(Limits.messagesPerEvent)")
    }
    var all = sends
    forEachTouched { _, other in if other !== turn, !other.hasFailed { all += other.sends } }
    guard event.hops < Limits.messageHops, all <= event.maySend else {
      if !event.isDryRun { sender(of: turn).wasStopped() }
      throw Failure(
        plugin: turn.entry.name, kind: .cycle,
        message: event.hops < Limits.messageHops
          ? "\(all) messages would follow where \(event.maySend) more may: \(Limits.messagesPerCascade) may follow from "
            + "one event, and what is left is divided among the messages that an event sends"
          : "a message that follows from more than \(Limits.messageHops) others is not sent")
    }
    turn.sends = sends
  }

  /// How many messages may follow from each that the event sends.
  func messageShare(of event: EventInput) -> Int {
    var sends = 0
    forEachTouched { _, turn in if !turn.hasFailed { sends += turn.sends } }
    return sends > 0 ? (event.maySend - sends) / sends : 0
  }

  private func sender(of turn: Turn) -> MessageSender {
    if let sender = turn.sender { return sender }
    let sender = context.senders[turn.entry.name]
    turn.sender = sender
    return sender
  }

  func writeMessage(
    _ operation: rb_op, at index: Int, _ vm: PluginVM, of plugin: Int, _ event: EventInput, maySend: Int,
    _ cascade: Cascade?
  ) {
    let target = vm.bytes(operation.a, operation.a_length)
    let sequence = context.nextSequence()
    key.removeAll()
    StoreKey.message(target, sequence: sequence, into: key)
    let identity = ByteBuffer(capacity: 256)
    identity.append(event.subject)
    identity.append(0)
    identity.append(event.source)
    identity.append(0)
    identity.append(event.id)
    identity.append(0)
    identity.append(contentsOf: catalog.plugins[plugin].name)
    identity.append(0)
    identity.append(decimal: Int64(index))
    value.removeAll()
    value.append("{\"type\":" as StaticString)
    value.append(jsonString: vm.bytes(operation.b, operation.b_length))
    value.append(",\"subject\":" as StaticString)
    value.append(jsonString: target)
    value.append(",\"id\":\"" as StaticString)
    UUIDText.derived(from: identity.bytes).write(to: value)
    value.append("\",\"source\":" as StaticString)
    value.append(jsonString: event.source)
    value.append(",\"time\":\"" as StaticString)
    Timestamp(microseconds: event.now).write(to: value)
    value.append("\",\"data\":" as StaticString)
    value.append(vm.bytes(operation.c, operation.c_length))
    value.append(",\"hops\":" as StaticString)
    value.append(decimal: Int64(event.hops + 1))
    value.append(",\"from\":" as StaticString)
    value.append(jsonString: event.subject)
    value.append(",\"may_send\":" as StaticString)
    value.append(decimal: Int64(maySend))
    value.append(",\"sent_by\":" as StaticString)
    value.append(catalog.plugins[plugin].quotedName)
    value.append(UInt8(ascii: "}"))
    batch.writes.put(key.bytes, value.bytes)
    cascade?.began()
    batch.messages.append(
      .init(subject: Array(target), sequence: sequence, cascade: cascade, sender: sender(of: turns[plugin])))
  }

  // MARK: Applying

  /// Applies a message to its subject and takes it from the store in the same commit, so that it is applied exactly once.
  ///
  /// False when the message is no longer there. What a plugin sent that is gone or suspended is parked instead, and so is
  /// what can't be read.
  package func deliver(_ message: CommitBatch.Message) throws(RequestError) -> Bool {
    let subject = try findSubject(named: message.subject)
    key.removeAll()
    StoreKey.message(message.subject, sequence: message.sequence, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return false }
    let document = messageDocument
    let mark = batch.mark
    batch.writes.delete(key.bytes)
    subject.lastCommit = batch.number
    var applied = message
    guard document.parse(value.bytes), !document.string(document.member("type")).isEmpty,
      document.string(document.member("subject")).elementsEqual(message.subject)
    else {
      applied.sender = message.sender ?? context.senders[""]
      batch.delivered.append(applied)
      parkDamaged(Array(value.bytes), of: subject, sequence: message.sequence)
      return true
    }
    var event = document.event(now: context.clock.now.microseconds)
    event.attributes = 0
    event.hops = Int(document.integer(document.member("hops")))
    let maySend = document.member("may_send")
    event.maySend = maySend == 0 ? Limits.messagesPerOldMessage : Int(document.integer(maySend))
    let name = document.string(document.member("sent_by"))
    let plugin = catalog.plugins.firstIndex { ByteOrder.equal($0.nameBytes, name) }
    applied.sender = plugin.map { sender(of: turns[$0]) } ?? context.senders[String(decoding: name, as: UTF8.self)]
    batch.delivered.append(applied)
    if !name.isEmpty, plugin.map({ catalog.plugins[$0].runtime.isSuspended }) ?? true {
      park(event, sentBy: String(decoding: name, as: UTF8.self), isGone: plugin == nil, subject, message.sequence)
      return true
    }
    try handle(event, cascade: message.cascade, undoing: mark)
    return true
  }

  // MARK: Parking

  /// Parks a message whose plugin is gone or suspended, under its own number, so that those of its subject keep their order.
  private func park(_ event: EventInput, sentBy name: String, isGone: Bool, _ subject: Subject, _ sequence: UInt64) {
    let reason =
      isGone
      ? "there is no plugin '\(name)' any more, so what it sent waits here: load it again, or drop this"
      : "the plugin is suspended, so what it sent waits here: reload it or retry this"
    let from = messageDocument.string(messageDocument.member("from"))
    writeParked(
      sequence: sequence, failure: Failure(plugin: name, kind: .error, message: reason), tries: 1, like: event,
      subject: subject
    ) { buffer in
      writeEvent(type: event.type, data: messageDocument.text(of: "data"), like: event, to: buffer)
    } more: { buffer in
      buffer.append(",\"message_from\":" as StaticString)
      buffer.append(jsonString: from)
    }
  }

  /// Parks what stood where a message should: nobody can apply it, and it is not lost silently.
  private func parkDamaged(_ bytes: [UInt8], of subject: Subject, sequence: UInt64) {
    let failure = Failure(
      plugin: "", kind: .error,
      message:
        "a message of \(bytes.count) bytes could not be read: what is stored of it is damaged. It is kept here; drop it"
    )
    let now = context.clock.now.microseconds
    let nobody = UnsafeRawBufferPointer(start: nil, count: 0)
    let event = EventInput(
      type: nobody, subject: subject.name, source: nobody, id: nobody, time: now, document: nil, data: 0, attributes: 0,
      text: nobody, now: now)
    writeParked(
      sequence: sequence, failure: failure, tries: 1, like: event, subject: subject
    ) { _ in
    } more: { buffer in
      buffer.append(",\"damaged\":\"" as StaticString)
      for byte in bytes {
        buffer.append(hexDigit: byte >> 4)
        buffer.append(hexDigit: byte & 15)
      }
      buffer.append(UInt8(ascii: "\""))
    }
    context.damagedMessages.wrappingAdd(1, ordering: .relaxed)
    log(.error, "a message that can't be read was set aside: see parked events without a plugin", failure)
  }

  /// Makes a message again of one that was parked, unless it is damaged; whoever retries it while its plugin is suspended wants it applied.
  func retryMessage(
    _ entry: JSONValue, _ event: EventInput, data: UnsafeRawBufferPointer, of plugin: Int, _ subject: Subject,
    sequence: UInt64
  ) {
    key.removeAll()
    StoreKey.message(subject.name, sequence: sequence, into: key)
    value.removeAll()
    writeEvent(type: event.type, data: data, like: event, to: value)
    value.truncate(to: value.count - 1)
    value.append(",\"hops\":" as StaticString)
    value.append(decimal: Int64(event.hops))
    value.append(",\"from\":" as StaticString)
    (entry["message_from"] ?? "").write(to: value)
    value.append(",\"may_send\":" as StaticString)
    value.append(decimal: Int64(event.maySend))
    if !catalog.plugins[plugin].runtime.isSuspended {
      value.append(",\"sent_by\":" as StaticString)
      value.append(catalog.plugins[plugin].quotedName)
    }
    value.append(UInt8(ascii: "}"))
    batch.writes.put(key.bytes, value.bytes)
    batch.messages.append(
      .init(subject: Array(subject.name), sequence: sequence, sender: sender(of: turns[plugin])))
  }
}

extension EventDocument {
  /// The plugin that sent a message, as it stands in the store; empty where that does not say.
  package func sender(of message: UnsafeRawBufferPointer) -> String {
    parse(message) ? String(decoding: string(member("sent_by")), as: UTF8.self) : ""
  }

  /// Whose a parked part is, as it stands in the store; nil when it can't be read.
  package func plugin(of parked: UnsafeRawBufferPointer) -> String? {
    parse(parked) ? String(decoding: string(member("plugin")), as: UTF8.self) : nil
  }
}
