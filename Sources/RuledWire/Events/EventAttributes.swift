/// The known attributes of an event while it is read; of repeated ones the last counts, and null is absent.
struct EventAttributes {
  /// Where each attribute stands on the tape, 0 for an absent one.
  private var indices = SIMD16<Int32>(repeating: 0)
  private let object: TapeValue

  /// The attributes of `object`, none read yet.
  init(of object: TapeValue) { self.object = object }

  /// Keeps a member as what it is.
  mutating func set(_ attribute: EventAttribute, _ value: TapeValue) {
    indices[attribute.rawValue] = value.isKind(.null) ? 0 : Int32(truncatingIfNeeded: value.index)
  }

  /// The value of an attribute, or nil if it is absent.
  subscript(attribute: EventAttribute) -> TapeValue? {
    let index = Int(indices[attribute.rawValue])
    return index == 0 ? nil : TapeValue(tape: object.tape, strings: object.strings, index: index)
  }
}
