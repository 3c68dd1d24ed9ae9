import CLuaBridge

extension rb_slice {
  /// The bytes that the slice stands for.
  var raw: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: length) }

  /// The bytes as text.
  var text: String { String(decoding: raw, as: UTF8.self) }

  /// The slice that borrows `bytes`.

  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), length: bytes.count)
  }
}

extension String {
  /// Calls `body` with the UTF-8 of the text.
  func withSlice<Result>(_ body: (rb_slice) -> Result) -> Result {
    var copy = self
    return copy.withUTF8 { body(rb_slice(UnsafeRawBufferPointer($0))) }
  }
}
