/// A place among the keys of a store, as they were when the cursor was made.
///
/// Belongs to the thread and to the call of `withCursor` that gave it.
package protocol StoreCursor: AnyObject {
  /// Moves to the first key that is not below `key` and says whether there is one.
  func seek(to key: UnsafeRawBufferPointer) throws(StoreError) -> Bool

  /// Moves to the next key and says whether there is one; only after a move that found one.
  func next() throws(StoreError) -> Bool

  /// The key at this place, valid until the next move; only after a move that found one.
  var key: UnsafeRawBufferPointer { get }

  /// The value at this place, valid until the next move; only after a move that found one.
  var value: UnsafeRawBufferPointer { get }

  /// Is told of keys that are damaged at rest, which moves then pass over; a move throws while nobody is told. To be set before the first move.
  var passing: ((UnreadableKeys) -> Void)? { get set }
}

/// A stretch of keys that can't be read, as they share a damaged block of a file.
package struct UnreadableKeys: Sendable {
  /// What the database says of it.
  package let error: StoreError
  /// The last key before them, or where the reading began.
  package let after: [UInt8]
  /// The first key behind them that can be read; nil when there is none.
  package let before: [UInt8]?

  /// A stretch.
  package init(error: StoreError, after: [UInt8], before: [UInt8]?) {
    self.error = error
    self.after = after
    self.before = before
  }

  /// Whether the key may be one of them.
  package func mayHold(_ key: UnsafeRawBufferPointer) -> Bool {
    after.lexicographicallyPrecedes(key) && (before.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}
