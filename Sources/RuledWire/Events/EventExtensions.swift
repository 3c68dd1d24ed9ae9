/// Walks the attributes of an event that are kept without meaning to the daemon, each a scalar that is not null.
package struct EventExtensions {
  private var cursor: MemberCursor

  /// The extensions among the members before which `cursor` stands.
  init(_ cursor: MemberCursor) { self.cursor = cursor }

  /// The next attribute, or nil at the end.
  package mutating func next() -> MemberCursor.Member? {
    while let member = cursor.next() {
      if !member.value.isKind(.null), EventAttribute(member.name).isKept { return member }
    }
    return nil
  }
}
