/// The messages of a batch, in their order; valid until the parser parses again.
package struct RequestBatch {
  private var elements: ElementCursor

  /// The batch in a non-empty array whose text is `text`.
  init(_ array: TapeValue, text: UnsafeRawBufferPointer) { elements = ElementCursor(array, text: text) }

  /// The next message, or nil at the end.
  package mutating func next() -> RequestMessage? {
    elements.next().map { RequestMessage($0.value, text: $0.text) }
  }
}
