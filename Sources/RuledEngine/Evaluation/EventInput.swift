import RuledCore

/// An event on its way into the rules, whose bytes are borrowed for the time of one call.
package struct EventInput {
  /// Where an event comes from.
  package enum Origin: Sendable, Equatable {
    /// A client sent it: it is idempotent by its id.
    case client
    /// A timer, a message or a retry: what stands in the store makes it happen once.
    case store
  }

  /// Its type.
  package var type: UnsafeRawBufferPointer
  /// Whom it is about.
  package var subject: UnsafeRawBufferPointer
  /// Where it was observed; may be empty.
  package var source: UnsafeRawBufferPointer
  /// Its id.
  package var id: UnsafeRawBufferPointer
  /// When it happened, in microseconds.
  package var time: Int64
  /// The parsed document that holds its data.
  package var document: OpaquePointer?
  /// Where its data stands in the document, 0 for none.
  package var data: Int
  /// Where the object stands whose further members are extensions, 0 for none.
  package var attributes: Int
  /// The event as it was sent, a JSON object.
  package var text: UnsafeRawBufferPointer
  /// Evaluate and answer, but commit nothing.
  package var isDryRun = false
  /// Answer with a trace.
  package var isExplained = false
  /// The time of the evaluation, in microseconds.
  package var now: Int64
  /// Where it comes from.
  package var origin = Origin.client
  /// How many messages led to it.
  package var hops = 0
  /// How many messages may follow from it.
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
