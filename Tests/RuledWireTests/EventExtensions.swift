import RuledJSON

@testable import RuledWire

extension EventView {
  /// The attributes that the daemon stores and does not interpret: extensions, `data_base64`, `datacontenttype` and `dataschema`.
  var extensions: EventExtensions { EventExtensions(cursor: MemberCursor(object, text: text)) }
}

/// Walks the attributes of an event that the daemon stores and does not interpret, each a scalar that is not null.
struct EventExtensions {
  fileprivate var cursor: MemberCursor

  mutating func next() -> MemberCursor.Member? {
    while let member = cursor.next() {
      if !member.value.isKind(.null), EventAttribute(member.name).isStored { return member }
    }
    return nil
  }
}
