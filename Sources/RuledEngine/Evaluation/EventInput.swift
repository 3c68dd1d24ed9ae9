import RuledCore

/// An event to be evaluated; its bytes are borrowed for the time of the call.
package struct EventInput {
  /// The origin of an event.
  package enum Origin: Sendable, Equatable {
    /// A client sent it: it is idempotent by its id.
    case client
    /// A timer, a message or a parked event: it happens once because it is removed from the store with its commit.
    case store
  }

  /// What happened.
  package var type: UnsafeRawBufferPointer
  /// The subject to whom it happened.
  package var subject: UnsafeRawBufferPointer
  /// Who observed it; may be empty.
  package var source: UnsafeRawBufferPointer
  /// Its id.
  package var id: UnsafeRawBufferPointer
  /// When it happened, in microseconds.
  package var time: Int64
  /// The parsed document that holds its data.
  package var document: OpaquePointer?
  /// The index of its data in the document, 0 for none.
  package var data: Int
  /// The index of the object whose other members are extensions, 0 for none.
  package var attributes: Int
  /// The event as it was sent, a JSON object.
  package var text: UnsafeRawBufferPointer
  /// Whether to commit nothing.
  package var isDryRun = false
  /// Whether the outcome has a trace.
  package var isExplained = false
  /// When it is evaluated, in microseconds.
  package var now: Int64
  /// Its origin.
  package var origin = Origin.client
  /// How many messages led to it.
  package var hops = 0
  /// How many messages may follow from it, directly or not.
  package var maySend = Limits.messagesPerCascade

  /// An event.
  package init(
    type: UnsafeRawBufferPointer, subject: UnsafeRawBufferPointer, source: UnsafeRawBufferPointer,
    id: UnsafeRawBufferPointer, time: Int64, document: OpaquePointer?, data: Int, attributes: Int,
    text: UnsafeRawBufferPointer, now: Int64
  ) {
    self.type = type
    self.subject = subject
    self.source = source
    self.id = id
    self.time = time
    self.document = document
    self.data = data
    self.attributes = attributes
    self.text = text
    self.now = now
  }

  /// No event.
  static var none: EventInput {
    let bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    return EventInput(
      type: bytes, subject: bytes, source: bytes, id: bytes, time: 0, document: nil, data: 0, attributes: 0,
      text: bytes, now: 0)
  }
}
