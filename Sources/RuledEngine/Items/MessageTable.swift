package import RuledCore
package import RuledJSON
import RuledJournal
import RuledLua
import RuledStore

/// The messages between subjects that wait in the store.
///
/// A message joins the batch of the event that sends it, and is removed by the batch of the event that it becomes: it is applied exactly once.
final class MessageTable {
  /// A message that was read from the store; valid until the next one is read.
  struct StoredMessage {
    /// The event that it becomes.
    let event: EventInput
    /// The plugin that sent it.
    let sender: Sender
    fileprivate let object: TapeValue

    /// The plugin and the reason if the message must be parked instead of applied.
    var obstacle: (plugin: String, reason: String)? {
      switch sender {
      case .unnamed: nil
      case .gone(let name):
        (name, "there is no plugin '\(name)' any more, so its message waits here: load it again, or drop this")
      case .plugin(let plugin):
        plugin.entry.runtime.isSuspended
          ? (plugin.entry.name, "the plugin is suspended, so its message waits here: reload it or retry this") : nil
      }
    }

    /// The event's data as JSON.
    var data: ByteView { event.storedData }
    /// The subject whose event sent it.
    var from: ByteView {
      object.member("from")?.string ?? ByteView.empty
    }
  }

  /// What the store holds where a message is expected.
  enum Stored {
    case message(StoredMessage)
    /// Bytes that can't be read as a message.
    case damaged([UInt8])
    /// Nothing: the message was applied or erased before.
    case gone
  }

  /// The plugin that sent a message.
  enum Sender {
    /// The message is of an older version, which does not name the plugin.
    case unnamed
    case plugin(WorkerPlugin)
    /// The rules in force have no plugin of that name.
    case gone(String)
  }

  private let context: EngineContext
  private let batches: BatchQueue
  private let plugins: WorkerPlugins
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)
  private let identity = ByteBuffer(capacity: 256)
  /// The message at hand.
  private let document = TapeDocument()

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins) {
    self.context = context
    self.batches = batches
    self.plugins = plugins
  }

  // MARK: Sending

  /// Adds a message to the batch.
  ///
  /// `number` is the operation's number, which makes the message's id unique. `maySend` messages may follow from it. `redacted` are the values
  /// that the journal redacts in the event.
  func send(
    to target: ByteView, type: ByteView, data: ByteView, number: Int,
    of plugin: WorkerPlugin, _ event: EventInput, maySend: Int, cascade: Cascade?, redacted: RedactedValues?
  ) {
    let sequence = context.nextSequence()
    key.removeAll()
    StoreKey.message(target, sequence: sequence, into: key)
    let id = ConsequenceID.message(number: number, of: plugin.entry.nameBytes, event, using: identity)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    json.member("type", string: type)
    json.member("subject", string: target)
    json.member("id")
    json.string(plain: id.write(to:))
    json.member("source", string: event.source)
    json.member("time", Timestamp(microseconds: event.now))
    json.member("data", raw: data)
    json.member("hops", event.hops + 1)
    json.member("from", string: event.subject)
    json.member("may_send", maySend)
    json.member("sent_by", raw: plugin.entry.quotedName)
    redacted?.note(with: data, to: &json)
    json.endObject()
    batches.current.writes.put(key.bytes, value.bytes)
    cascade?.enter()
    batches.current.messages.append(
      .init(
        subject: Array(target), sequence: sequence, cascade: cascade, sender: plugin.sender(in: context.senders)))
  }

  /// Makes a message again of one that was parked, under its old number.
  ///
  /// Without a sender it is applied even while its plugin is suspended.
  func resend(
    _ event: EventInput, data: ByteView, from: JSONValue, of plugin: WorkerPlugin, to subject: Subject,
    sequence: UInt64
  ) {
    key.removeAll()
    StoreKey.message(subject.name, sequence: sequence, into: key)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    event.writeMembers(type: event.type, data: data, redacted: redactedValues(in: event), to: &json)
    json.member("hops", event.hops)
    json.member("from")
    json.raw(from.write(to:))
    json.member("may_send", event.maySend)
    if !plugin.entry.runtime.isSuspended { json.member("sent_by", raw: plugin.entry.quotedName) }
    json.endObject()
    batches.current.writes.put(key.bytes, value.bytes)
    batches.current.messages.append(
      .init(subject: Array(subject.name), sequence: sequence, sender: plugin.sender(in: context.senders)))
  }

  /// The values that the journal redacts in a message; nil if there are none.
  func redactedValues(in message: EventInput) -> RedactedValues? {
    context.redaction?.values(in: message.text, isFromClient: false)
  }

  // MARK: Applying

  /// Removes a message from the store and adds it to those that the batch delivers.
  ///
  /// - Returns: what the store held under its key.
  func take(_ message: CommitBatch.Message, of subject: Subject) throws(RequestError) -> Stored {
    key.removeAll()
    StoreKey.message(message.subject, sequence: message.sequence, into: key)
    value.removeAll()
    guard try batches.read(key.bytes, of: subject, into: value) else { return .gone }
    batches.current.writes.delete(key.bytes)
    subject.lastCommit = batches.current.number
    var delivered = message
    guard let object = try? document.parse(copyOf: value.bytes), object.member("type")?.string?.isEmpty == false,
      object.member("subject")?.string?.elementsEqual(message.subject) == true
    else {
      delivered.sender = message.sender ?? context.senders[""]
      batches.current.delivered.append(delivered)
      return .damaged(Array(value.bytes))
    }
    var event = EventInput(stored: object, text: document.text, now: context.clock.now.microseconds)
    event.attributes = nil
    event.hops = Int(object.member("hops")?.integer ?? 0)
    event.maySend = object.member("may_send").map { Int($0.integer ?? 0) } ?? Limits.messagesPerOldMessage
    let name = object.member("sent_by")?.string ?? ByteView.empty
    let sender: Sender
    let isSender = { (plugin: WorkerPlugin) in ByteOrder.equal(plugin.entry.nameBytes, name) }
    if let plugin = plugins.all.first(where: isSender) ?? plugins.others?.all.first(where: isSender) {
      sender = .plugin(plugin)
      delivered.sender = plugin.sender(in: context.senders)
    } else {
      let name = String(decoding: name, as: UTF8.self)
      sender = name.isEmpty ? .unnamed : .gone(name)
      delivered.sender = context.senders[name]
    }
    batches.current.delivered.append(delivered)
    return .message(StoredMessage(event: event, sender: sender, object: object))
  }
}

extension EventInput {
  /// The data of an event that the daemon stored, as JSON; `{}` when there is none.
  var storedData: ByteView {
    let data = text.rawMember("data")
    return data.isEmpty ? ByteView("{}") : data
  }

  /// Appends an event of another type and data, for the same subject and with the same id, source and time.
  func write(
    type: ByteView, data: ByteView, isRaised: Bool = false, redacted: RedactedValues?, to buffer: ByteBuffer
  ) {
    var json = JSONWriter(buffer)
    json.beginObject()
    writeMembers(type: type, data: data, redacted: redacted, to: &json)
    if isRaised { json.member("origin", "raise") }
    json.endObject()
  }

  /// Appends the members of such an event, with the values that the journal redacts if its data has some of them.
  fileprivate func writeMembers(
    type: ByteView, data: ByteView, redacted: RedactedValues?, to json: inout JSONWriter
  ) {
    json.member("type", string: type)
    json.member("subject", string: subject)
    json.member("id", string: id)
    json.member("source", string: source)
    json.member("time", Timestamp(microseconds: time))
    json.member("data", raw: data)
    redacted?.note(with: data, to: &json)
  }
}

extension TapeDocument {
  /// The plugin that sent a stored message; empty where the message does not name it.
  package func sender(of message: ByteView) -> String {
    (try? parse(copyOf: message))?.member("sent_by")?.text ?? ""
  }

  /// The plugin of a stored parked part; nil when the part can't be read.
  package func plugin(of parked: ByteView) -> String? {
    guard let object = try? parse(copyOf: parked) else { return nil }
    return object.member("plugin")?.text ?? ""
  }
}
