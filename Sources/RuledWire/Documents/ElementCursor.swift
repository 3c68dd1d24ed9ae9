import CJSON

/// Walks an array's elements on the tape and in the text at once, so that each comes with its text as sent.
package struct ElementCursor {
  private let array: TapeValue
  private let end: Int
  private var index: Int
  private var cursor: cj_cursor

  /// An element of an array.
  package struct Element {
    /// The value.
    package let value: TapeValue
    /// The value's text as sent.
    package let text: UnsafeRawBufferPointer
  }

  /// A cursor before the first element of `array`, whose text is `text`.
  package init(_ array: TapeValue, text: UnsafeRawBufferPointer) {
    self.array = array
    end = cj_end(array.tape, array.index)
    index = cj_first(array.index)
    cursor = text.withCharacters { cj_raw_open($0, $1) }
  }

  /// Whether there is no further element.
  package var isAtEnd: Bool { index >= end }

  /// The next element, or nil at the end.
  package mutating func next() -> Element? {
    var raw = cj_slice()
    guard index < end, cj_raw_element(&cursor, &raw) else { return nil }
    let value = TapeValue(tape: array.tape, strings: array.strings, index: index)
    index = cj_next(array.tape, index)
    return Element(value: value, text: UnsafeRawBufferPointer(start: raw.bytes, count: raw.length))
  }
}
