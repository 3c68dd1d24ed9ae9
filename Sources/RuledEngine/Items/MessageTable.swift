package import RuledCore
package import RuledJSON
import RuledJournal
import RuledStore

/// The messages between subjects that wait in the store.
///
/// A message joins the batch of the event that sends it, and is removed by the batch of the event that it becomes: it is applied exactly once.
final class MessageTable {
  /// A message that was read from the store; valid until the next one is read.
  struct StoredMessage {
    /// The event that it becomes.
    let event: EventInput
    let sender: Sender
    fileprivate let object: TapeValue
    /// Its publication; nil for a message of its own.
    let publication: TopicTable.Publication?

    /// The plugin and the reason if the message must be parked instead of applied.
    var obstacle: (plugin: String, reason: String)? {
      switch sender {
      case .unnamed: nil
      case .gone(let name):
        (name, "there is no plugin '\(name)' any more, so its message waits here: load it again, or drop this")
      case .plugin(let plugin):
        plugin.loaded.runtime.isSuspended
          ? (plugin.loaded.name, "the plugin is suspended, so its message waits here: reload it or retry this") : nil
      }
    }

    /// The event's data as JSON.
    var data: ByteView { event.storedData }
    /// The subject whose event sent it.
    var from: ByteView {
      object.member("from")?.string ?? ByteView.empty
    }
  }

  /// The content of the store under a message's key.
  enum Stored {
    case message(StoredMessage)
    /// Bytes that can't be read as a message.
    case damaged([UInt8])
    /// A message of a publication to a topic that the subject has left since.
    case left
    /// A message of a plugin whose messages are deferred; it stays in the store.
    case deferred
    /// Nothing: the message was applied or erased before.
    case gone
  }

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
  private let topics: TopicTable
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)
  private let identity = ByteBuffer(capacity: 256)
  /// The message at hand.
  private let document = TapeDocument()

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins, topics: TopicTable) {
    self.context = context
    self.batches = batches
    self.plugins = plugins
    self.topics = topics
  }

  // MARK: Sending

  /// A message or a publication of a rule.
  struct Draft {
    let type: ByteView
    let data: ByteView
    /// The operation's number, which makes the message's id unique.
    let number: Int
    /// The messages and publications that may follow from it.
    let allowance: Allowance
    let cascade: Cascade?
    let redacted: RedactedValues?
  }

  func send(_ draft: Draft, to target: ByteView, of plugin: WorkerPlugin, _ event: EventInput) {
    let sequence = context.nextSequence()
    StoreKey.numbered(.message, target, sequence, into: key)
    value.removeAll()
    var json = JSONWriter(value)
    write(draft, to: target, allowance: draft.allowance, of: plugin, event, &json)
    batches.current.writes.put(key.bytes, value.bytes)
    draft.cascade?.enter()
    batches.current.messages.append(
      .init(
        subject: Array(target), sequence: sequence, cascade: draft.cascade, sender: plugin.sender(in: context.senders)))
  }

  /// Appends the text of a message, or the common text of a publication's messages, which has no target.
  private func write(
    _ draft: Draft, to target: ByteView?, allowance: Allowance, of plugin: WorkerPlugin, _ event: EventInput,
    _ json: inout JSONWriter
  ) {
    let id = ConsequenceID.message(number: draft.number, of: plugin.loaded.nameBytes, event, using: identity)
    json.beginObject()
    json.member("type", string: draft.type)
    if let target { json.member("subject", string: target) }
    json.member("id")
    json.string(plain: id.write(to:))
    json.member("source", string: event.source)
    json.member("time", Timestamp(microseconds: event.now))
    json.member("data", raw: draft.data)
    json.member("hops", event.hops + 1)
    json.member("from", string: event.subject)
    allowance.write(to: &json)
    json.member("sent_by", raw: plugin.loaded.quotedName)
    draft.redacted?.note(with: draft.data, to: &json)
    json.endObject()
  }

  // MARK: Publishing

  /// Whether publications of the subject are under way, so that its messages go behind them.
  func isPublishing(_ subject: ByteView) -> Bool {
    context.publications.isUnderWay(of: subject) || batches.hasPublication(of: subject)
  }

  /// A publication to the members of a plugin's topic but `except`, if that is not empty.
  ///
  /// Each of them may send as much as an event of a client.
  func publish(
    _ draft: Draft, to topic: ByteView, except: ByteView, of plugin: WorkerPlugin, _ event: EventInput
  ) -> TopicChange {
    let all = Allowance(messages: Limits.messagesPerCascade, publications: Limits.publicationsPerCascade)
    return change(draft, to: nil, all, of: plugin, event) { json in
      json.member("topic", string: topic)
      if !except.isEmpty { json.member("except", string: except) }
      json.member("may_publish", draft.allowance.publications)
    }
  }

  /// A message that goes behind the publications of its sender: it reaches its subject after them.
  func sendBehind(_ draft: Draft, to target: ByteView, of plugin: WorkerPlugin, _ event: EventInput) -> TopicChange {
    change(draft, to: target, draft.allowance, of: plugin, event) { _ in }
  }

  private func change(
    _ draft: Draft, to target: ByteView?, _ allowance: Allowance, of plugin: WorkerPlugin, _ event: EventInput,
    writeTopic: (inout JSONWriter) -> Void
  ) -> TopicChange {
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    writeTopic(&json)
    json.member("message")
    write(draft, to: target, allowance: allowance, of: plugin, event, &json)
    json.endObject()
    draft.cascade?.enter()
    return .publish(.init(publisher: Array(event.subject), text: Array(value.bytes), cascade: draft.cascade))
  }

  // MARK: Sending again

  /// Makes a message again of one that was parked, under its old number.
  ///
  /// Without a sender it is applied even while its plugin is suspended.
  func resend(
    _ event: EventInput, data: ByteView, parked: JSONValue, of plugin: WorkerPlugin, to subject: Subject,
    sequence: UInt64
  ) {
    StoreKey.numbered(.message, subject.name, sequence, into: key)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    let topic = parked["topic"]?.stringValue
    if let topic {
      json.member("topic", topic)
      json.member("published", parked["published"]?.intValue ?? 0)
      json.member("message")
      json.beginObject()
    }
    event.writeMembers(type: event.type, data: data, redacted: redactedValues(in: event), to: &json)
    json.member("hops", event.hops)
    json.member("from")
    json.raw((parked["message_from"] ?? .null).write(to:))
    Allowance(messages: event.maySend, publications: event.mayPublish).write(to: &json)
    if !plugin.loaded.runtime.isSuspended { json.member("sent_by", raw: plugin.loaded.quotedName) }
    if topic != nil { json.endObject() }
    json.endObject()
    batches.current.writes.put(key.bytes, value.bytes)
    batches.current.messages.append(
      .init(subject: Array(subject.name), sequence: sequence, sender: plugin.sender(in: context.senders)))
  }

  func redactedValues(in message: EventInput) -> RedactedValues? {
    context.redaction?.values(in: message.text, isFromClient: false)
  }

  // MARK: Applying

  /// Removes a message from the store, unless its plugin is one of `deferred`, and adds it to those that the batch delivers.
  ///
  /// - Returns: the store's content under its key.
  func take(
    _ message: CommitBatch.Message, of subject: Subject, butOf deferred: Set<String>
  ) throws(RequestError) -> Stored {
    StoreKey.numbered(.message, message.subject, message.sequence, into: key)
    guard try batches.read(key.bytes, of: subject, into: value) else { return .gone }
    if !deferred.isEmpty, deferred.contains(document.sender(of: value.bytes)) { return .deferred }
    let root = try? document.parse(copyOf: value.bytes)
    let publication = root.flatMap { TopicTable.Publication($0) }
    // Before the first write, as it may fail.
    let isLeft = try publication.map { (publication) throws(RequestError) in
      try !topics.isReached(subject.name, by: publication)
    }
    batches.current.writes.delete(key.bytes)
    subject.lastCommit = batches.current.number
    var delivered = message
    guard let root, case let object = root.member("message") ?? root,
      object.member("type")?.string?.isEmpty == false,
      object.member("subject")?.string?.elementsEqual(message.subject) == true
    else {
      delivered.sender = message.sender ?? context.senders[""]
      batches.current.delivered.append(delivered)
      return .damaged(Array(value.bytes))
    }
    let inner = document.text.rawMember("message")
    let event = EventInput(
      stored: object, text: inner.isEmpty ? document.text : inner, now: context.clock.now.microseconds)
    let name = object.member("sent_by")?.string ?? ByteView.empty
    let sender: Sender
    if let plugin = plugins.plugin(named: name) {
      sender = .plugin(plugin)
      delivered.sender = plugin.sender(in: context.senders)
    } else {
      let name = name.text
      sender = name.isEmpty ? .unnamed : .gone(name)
      delivered.sender = context.senders[name]
    }
    batches.current.delivered.append(delivered)
    if isLeft == true { return .left }
    return .message(StoredMessage(event: event, sender: sender, object: object, publication: publication))
  }
}

extension EventInput {
  /// The data of an event that the daemon stored, as JSON; `{}` when there is none.
  var storedData: ByteView {
    let data = text.rawMember("data")
    return data.isEmpty ? ByteView("{}") : data
  }

  /// Appends an event of another type and data, for the same subject and with the same id, source and time.
  func write(type: ByteView, data: ByteView, isRaised: Bool = false, redacted: RedactedValues?, to buffer: ByteBuffer) {
    var json = JSONWriter(buffer)
    json.beginObject()
    writeMembers(type: type, data: data, redacted: redacted, to: &json)
    if isRaised { json.member("origin", "raise") }
    json.endObject()
  }

  /// Appends the members of such an event, with the values to redact in the journal if its data has some of them.
  fileprivate func writeMembers(type: ByteView, data: ByteView, redacted: RedactedValues?, to json: inout JSONWriter) {
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
    guard let stored = try? parse(copyOf: message) else { return "" }
    return (stored.member("message") ?? stored).member("sent_by")?.text ?? ""
  }

  /// The plugin of a stored parked part; nil when the part can't be read.
  func plugin(of parked: ByteView) -> String? {
    guard let object = try? parse(copyOf: parked) else { return nil }
    return object.member("plugin")?.text ?? ""
  }

  /// The plugin of a stored parked part and the digest of the rules that failed on it, nil if they are not known; nil when the part can't be read.
  package func rules(of parked: ByteView) -> (plugin: String, digest: String?)? {
    guard let object = try? parse(copyOf: parked) else { return nil }
    return (object.member("plugin")?.text ?? "", object.member("rules")?.text)
  }
}
