import CJSON

extension UnsafeRawBufferPointer {
  /// The text of the one value that the bytes hold, without the white space around it.
  package var trimmedJSON: UnsafeRawBufferPointer {
    let slice = withCharacters { cj_raw_trim($0, $1) }
    return UnsafeRawBufferPointer(start: slice.bytes, count: slice.length)
  }

  /// Calls `body` with the bytes as C code takes them; an empty run has an address too.
  func withCharacters<Result>(_ body: (UnsafePointer<CChar>, Int) -> Result) -> Result {
    guard let baseAddress else {
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
        guard let start = UnsafePointer(empty.baseAddress) else { fatalError("no temporary memory") }
        return body(start, 0)
      }
    }
    return body(baseAddress.assumingMemoryBound(to: CChar.self), count)
  }
}
