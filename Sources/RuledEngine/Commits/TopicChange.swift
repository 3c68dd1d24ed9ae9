/// What an event does to topics beside its subject's own keys.
///
/// It is written only when its batch is appended to the store, with the next number: so numbers are in the order of the commits, and tell who was a
/// member when a publication was committed.
package enum TopicChange: Sendable {
  /// A subject joins a topic: `member` is the key of the member.
  case join(member: [UInt8])
  case leave(member: [UInt8])
  /// A publication sets out, or a message that its publisher sends behind one that is under way.
  case publish(Publication)

  /// What is published.
  package struct Publication: Sendable {
    /// The subject whose event it is of.
    let publisher: [UInt8]
    /// As it is stored.
    let text: [UInt8]
    package let cascade: Cascade?
  }

  /// The publication; nil for other changes.
  package var publication: Publication? {
    if case .publish(let publication) = self { publication } else { nil }
  }
}
