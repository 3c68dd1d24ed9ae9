/// An event's change of topics beside its subject's own keys.
///
/// It is written only when its batch is appended to the store, with the next number: so numbers are in the order of the commits, and tell who was a
/// member when a publication was committed.
package enum TopicChange: Sendable {
  /// A subject joins a topic: `member` is the key of the member.
  case join(member: [UInt8])
  case leave(member: [UInt8])
  /// The start of a publication, or of a message that its publisher sends after a publication under way.
  case publish(Publication)

  /// A publication to the members of a topic, or a message that follows one.
  package struct Publication: Sendable {
    /// The subject whose event published it.
    let publisher: [UInt8]
    /// The text in the store.
    package let text: [UInt8]
    package let cascade: Cascade?
  }

  package var publication: Publication? {
    if case .publish(let publication) = self { publication } else { nil }
  }
}
