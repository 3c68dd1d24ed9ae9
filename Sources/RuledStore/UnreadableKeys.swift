package import RuledCore

/// A range of keys that can't be read, as they share a damaged block of a file.
package struct UnreadableKeys: Sendable {
  package let error: StoreError
  /// The last key before them, or where the scan began.
  package let after: [UInt8]
  /// The first key behind them that can be read; nil when there is none.
  package let before: [UInt8]?

  package init(error: StoreError, after: [UInt8], before: [UInt8]?) {
    self.error = error
    self.after = after
    self.before = before
  }

  package func mayContain(_ key: ByteView) -> Bool {
    after.lexicographicallyPrecedes(key) && (before.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}
