import CJSON
package import RuledCore

/// A reusable parser and what it parsed last.
///
/// Parsing again invalidates every `TapeValue` and every piece of text taken from the document before. It allocates only
/// for a text longer than all before it.
package final class TapeDocument {
  /// The document for C code that walks the tape itself.
  package let handle: OpaquePointer

  /// An empty document.
  package init() {
    guard let handle = cj_new() else { fatalError("no memory for a JSON parser") }
    self.handle = handle
  }

  deinit { cj_free(handle) }

  /// Parses `text`, of which `readable` bytes may be read, and returns the root value.
  ///
  /// With 64 bytes more than the text readable, it is parsed in place.
  package func parse(_ text: UnsafeRawBufferPointer, readable: Int = 0) throws(RequestError) -> TapeValue {
    guard let base = text.baseAddress else { throw RequestError(.parseError, "There is no JSON.") }
    let code = cj_parse(handle, base.assumingMemoryBound(to: CChar.self), text.count, max(readable, text.count))
    guard code == Int32(CJ_OK.rawValue) else {
      throw RequestError(.parseError, "Parse error: \(String(cString: cj_error_text(code))).")
    }
    return TapeValue(tape: cj_tape(handle), strings: cj_strings(handle), index: Int(CJ_ROOT))
  }
}
