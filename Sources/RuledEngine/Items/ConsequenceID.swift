package import RuledCore

/// The ids of the events that follow from an event: they depend on nothing but that event and the operations of its rules.
///
/// So a replay gives them again, and an explanation can name them before they happen.
package enum ConsequenceID {
  /// The id of a message; `number` is its operation's number among those of its plugin, without operations for explanations alone.
  static func message(number: Int, of plugin: ByteView, _ event: EventInput, using identity: ByteBuffer) -> UUIDText {
    identity.removeAll()
    append(event.subject, to: identity)
    append(event.source, to: identity)
    append(event.id, to: identity)
    append(plugin, to: identity)
    identity.append(decimal: Int64(number))
    return UUIDText.derived(from: identity.bytes)
  }

  /// The index of the last of `events` from which a message with that id of a plugin's rules follows; nil if it is none of them.
  package static func cause(ofMessage id: String, of plugin: String, among events: [JSONValue]) -> Int? {
    let identity = ByteBuffer(capacity: 256)
    let parts = events.map { event -> [UInt8] in
      (["subject", "source", "id"].map { event[$0]?.stringValue ?? "" } + [plugin]).flatMap { Array($0.utf8) + [0] }
    }
    for number in 0..<Limits.operations {
      let cause = parts.lastIndex { parts in
        identity.removeAll()
        parts.withView { identity.append($0) }
        identity.append(decimal: Int64(number))
        return UUIDText.derived(from: identity.bytes).text == id
      }
      if let cause { return cause }
    }
    return nil
  }

  /// The id of the event of a timer that is due at `due`, in microseconds.
  static func timer(
    _ name: ByteView, due: Int64, of plugin: ByteView, _ event: EventInput, using identity: ByteBuffer
  ) -> UUIDText {
    identity.removeAll()
    append(event.subject, to: identity)
    append(plugin, to: identity)
    append(event.id, to: identity)
    identity.append(name)
    identity.append(decimal: due)
    return UUIDText.derived(from: identity.bytes)
  }

  /// The due time, in microseconds, of a timer that a rule set for `seconds`.
  static func due(_ seconds: Double) -> Int64 { Int64((seconds * 1e6).rounded()) }

  private static func append(_ part: ByteView, to identity: ByteBuffer) {
    identity.append(part)
    identity.append(0)
  }
}
