package import RuledCore
package import RuledJSON
import RuledJournal

/// An event to be evaluated; its bytes are borrowed for the time of the call.
package struct EventInput {
  package enum Origin: Sendable, Equatable {
    /// A client sent it: it is idempotent by its id.
    case client
    /// A client sent it, and the journal recorded that it took effect: it is no repeat, and its outcome is not remembered.
    case recorded
    /// A message, which happens once because it is removed from the store with its commit, as the following two.
    case message
    case timer
    /// A parked part that is retried.
    case retry

    var isFromClient: Bool { self == .client || self == .recorded }

    /// The origin in the journal.
    var recorded: JournalEntry.Origin {
      switch self {
      case .client, .recorded: .client
      case .message: .message
      case .timer: .timer
      case .retry: .retry
      }
    }
  }

  var type: ByteView
  var subject: ByteView
  /// The observer of the event; may be empty.
  var source: ByteView
  var id: ByteView
  /// When it happened, in microseconds.
  var time: Int64
  var data: TapeValue?
  /// The object whose further members are extensions, nil for none.
  var attributes: TapeValue?
  /// The event as it was sent, a JSON object.
  var text: ByteView
  /// Whether to commit nothing.
  package var isDryRun = false
  /// Whether the outcome has a trace.
  package var isExplained = false
  /// Whether the trace has the values that rules read.
  package var explainsValues = true
  /// Whether the explanation has the texts that rules may make of the state, such as subjects of messages and names of timers.
  package var explainsTexts = true
  /// When it is evaluated, in microseconds.
  var now: Int64
  package var origin = Origin.client
  /// The subject that sent it, if it is a message; else empty.
  var sender = ByteView.empty
  /// Whether an administrator sent it, so that it may have a type that only rules make.
  package var isInternal = false
  /// Whether `text` has no id, as the client left that to the daemon.
  package var lacksID = false
  /// How many messages led to it.
  var hops = 0
  /// How many messages may follow from it, directly or not.
  var maySend = Limits.messagesPerCascade
  /// How many publications may follow from it, directly or not.
  var mayPublish = Limits.publicationsPerCascade

  package init(
    type: ByteView, subject: ByteView, source: ByteView, id: ByteView, time: Int64, data: TapeValue?,
    attributes: TapeValue?, text: ByteView, now: Int64
  ) {
    self.type = type
    self.subject = subject
    self.source = source
    self.id = id
    self.time = time
    self.data = data
    self.attributes = attributes
    self.text = text
    self.now = now
  }

  /// The event of a stored message, timer or parked part, which an object describes; `text` is the object's text.
  ///
  /// It is evaluated at `now`, which is also its time when it has none.
  package init(stored object: TapeValue, text: ByteView, now: Int64, origin: Origin = .message) {
    let none = ByteView.empty
    self.init(
      type: object.member("type")?.string ?? none, subject: object.member("subject")?.string ?? none,
      source: object.member("source")?.string ?? none, id: object.member("id")?.string ?? none,
      time: object.member("time")?.string.flatMap { Timestamp(rfc3339: $0)?.microseconds } ?? now,
      data: object.member("data"), attributes: object.isKind(.object) ? object : nil, text: text, now: now)
    self.origin = origin
    func number(_ name: StaticString) -> Int? { object.member(name).map { Int($0.integer ?? 0) } }
    switch origin {
    case .client, .recorded: break
    case .retry: sender = object.member("sender")?.string ?? none
    case .message, .timer:
      if origin == .message { maySend = Limits.messagesPerOldMessage }
      sender = object.member("from")?.string ?? none
      attributes = nil
      hops = number("hops") ?? 0
      maySend = number("may_send") ?? maySend
      mayPublish = number("may_publish") ?? mayPublish
    }
  }

  /// The event's origin as rules get it; a parked event keeps that of the first time.
  var originText: ByteView {
    switch origin {
    case .client, .recorded: ByteView("client")
    case .message: ByteView("message")
    case .timer: ByteView("timer")
    case .retry: attributes?.member("origin")?.string ?? ByteView("client")
    }
  }

  static var none: EventInput {
    let bytes = ByteView.empty
    return EventInput(
      type: bytes, subject: bytes, source: bytes, id: bytes, time: 0, data: nil, attributes: nil, text: bytes, now: 0)
  }
}
