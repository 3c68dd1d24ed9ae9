import CJSON
package import RuledCore

/// A parser with its memory, and the text that it parsed last.
///
/// Parsing again invalidates every `TapeValue` and every piece of text taken from the document before. It allocates only for a text longer
/// than all before it. A document belongs to one thread at a time.
package final class TapeDocument {
  /// The document, for C code that walks the tape itself.
  let handle: OpaquePointer
  private lazy var copy = ByteBuffer(capacity: 1024)

  package init(maximumDepth: Int = Limits.storedDepth) {
    guard let handle = cj_new() else { fatalError("no memory for a JSON parser") }
    if maximumDepth != Int(CJ_MAX_DEPTH) { cj_set_depth(handle, maximumDepth) }
    self.handle = handle
  }

  deinit { cj_free(handle) }

  /// Parses `text`.
  ///
  /// - Parameters:
  ///   - text: The whole text; it must outlive all values taken from it.
  ///   - readable: How many bytes can be read from the start of `text`. With 64 more than it has, it is
  ///     parsed in place.
  /// - Returns: The root value.
  /// - Throws: Why the text is not JSON.
  package func parse(_ text: ByteView, readable: Int = 0) throws(JSONError.Reason) -> TapeValue {
    let code = text.withCharacters { cj_parse(handle, $0, $1, max(readable, $1)) }
    guard code == Int32(CJ_OK.rawValue) else { throw JSONError.Reason(rawValue: code) ?? .syntax }
    return TapeValue(tape: cj_tape(handle), strings: cj_strings(handle), index: Int(CJ_ROOT))
  }

  /// Parses a copy of `text`, which the document holds as `text` until it parses again, and returns the root value.
  package func parse(copyOf text: ByteView) throws(JSONError.Reason) -> TapeValue {
    copy.removeAll()
    copy.append(text)
    copy.reserve(Int(CJ_PADDING))
    return try parse(copy.bytes, readable: copy.count + Int(CJ_PADDING))
  }

  /// The copy that `parse(copyOf:)` made last.
  package var text: ByteView { copy.bytes }
}
