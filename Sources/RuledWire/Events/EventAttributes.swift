/// The known attributes of an event while it is read; of repeated ones the last counts, and null is absent.
struct EventAttributes {
  /// The text of `data` as sent.
  private(set) var dataText = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Where each attribute stands on the tape, 0 for an absent one.
  private var indices = SIMD16<Int32>(repeating: 0)
  private let object: TapeValue

  /// The attributes of `object`, none read yet.
  init(of object: TapeValue) { self.object = object }

  /// Keeps a member as what it is.
  mutating func set(_ attribute: EventAttribute, _ member: MemberCursor.Member) {
    indices[attribute.rawValue] = member.value.kind == .null ? 0 : Int32(truncatingIfNeeded: member.value.index)
    if attribute == .data { dataText = member.text }
  }

  /// The value of an attribute, or nil if it is absent.
  subscript(attribute: EventAttribute) -> TapeValue? {
    let index = Int(indices[attribute.rawValue])
    return index == 0 ? nil : TapeValue(tape: object.tape, strings: object.strings, index: index)
  }
}
