import CJSON

/// Walks an object's members on the tape and in the text at once, so that each comes with its text as sent.
package struct MemberCursor {
  private let object: TapeValue
  private let end: Int
  private var index: Int
  private var cursor: cj_cursor

  /// A member of an object.
  package struct Member {
    /// The decoded name.
    package let name: UnsafeRawBufferPointer
    /// The value.
    package let value: TapeValue
    /// The value's text as sent.
    package let text: UnsafeRawBufferPointer
  }

  /// A cursor before the first member of `object`, whose text is `text`.
  package init(_ object: TapeValue, text: UnsafeRawBufferPointer) {
    self.object = object
    end = cj_end(object.tape, object.index)
    index = cj_first(object.index)
    cursor = text.withCharacters { cj_raw_open($0, $1) }
  }

  /// The next member, or nil at the end.
  package mutating func next() -> Member? {
    var (rawName, rawValue) = (cj_slice(), cj_slice())
    guard index < end, cj_raw_member_next(&cursor, &rawName, &rawValue) else { return nil }
    let name = TapeValue(tape: object.tape, strings: object.strings, index: index)
    let value = TapeValue(tape: object.tape, strings: object.strings, index: index + 1)
    index = cj_next(object.tape, index + 1)
    return Member(
      name: name.string ?? UnsafeRawBufferPointer(start: nil, count: 0), value: value,
      text: UnsafeRawBufferPointer(start: rawValue.bytes, count: rawValue.length))
  }
}
