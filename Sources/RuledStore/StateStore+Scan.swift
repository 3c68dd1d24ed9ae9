import RuledCore

extension StateStore {
  /// Calls `body` with each key from `lower` on and below `upper`, in ascending byte order, until it returns false.
  ///
  /// All pairs are from one moment. The bytes are valid during the call of `body` alone. Keys that are damaged at rest end it with an error, unless `passing`
  /// is told of them: then it goes on behind them.
  package func scan(
    from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer?,
    passing: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    try withCursor(below: upper) { (cursor) throws(StoreError) in
      cursor.passing = passing
      var found = try cursor.seek(to: lower)
      while found, body(cursor.key, cursor.value) { found = try cursor.next() }
    }
  }

  /// As `scan` over borrowed bytes, for bounds that are kept in arrays.
  package func scan(
    from lower: [UInt8], to upper: [UInt8]?, passing: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    let bounds = ByteBuffer(capacity: lower.count + (upper?.count ?? 0))
    lower.withUnsafeBytes { bounds.append($0) }
    upper?.withUnsafeBytes { bounds.append($0) }
    let first = UnsafeRawBufferPointer(rebasing: bounds.bytes[..<lower.count])
    let last = UnsafeRawBufferPointer(rebasing: bounds.bytes[lower.count...])
    try scan(from: first, to: upper == nil ? nil : last, passing: passing, body)
    withExtendedLifetime(bounds) {}
  }

  /// Calls `body` with each key that begins with `prefix`, in ascending byte order, until it returns false.
  package func scan(
    prefix: [UInt8], passing: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    try scan(from: prefix, to: StoreKey.upperBound(prefix), passing: passing, body)
  }
}
