import CJSON

/// Walks an object's members on the tape alone.
struct TapeMembers {
  private let object: TapeValue
  private let end: Int
  private var index: Int

  /// The members of an object, the first next.
  init(_ object: TapeValue) {
    self.object = object
    end = cj_end(object.tape, object.index)
    index = cj_first(object.index)
  }

  /// The next member's decoded name and its value, or nil at the end.
  @inline(__always)
  mutating func next() -> (name: UnsafeRawBufferPointer, value: TapeValue)? {
    guard index < end else { return nil }
    var length = 0
    let name = cj_string(object.tape, object.strings, index, &length)
    let value = TapeValue(tape: object.tape, strings: object.strings, index: index + 1)
    index = cj_next(object.tape, index + 1)
    return (UnsafeRawBufferPointer(start: name, count: length), value)
  }
}
