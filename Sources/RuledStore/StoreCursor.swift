package import RuledCore

/// A position among the keys of a store, as they were when the cursor was made.
///
/// It belongs to the thread and to the call of `withCursor` that gave it.
package protocol StoreCursor: AnyObject {
  /// Moves to the first key that is not below `key`; false when there is none.
  func seek(to key: ByteView) throws(StoreError) -> Bool

  /// Moves to the next key; false when there is none. Only after a move that found one.
  func next() throws(StoreError) -> Bool

  /// The key at the position, valid until the next move; only after a move that found one.
  var key: ByteView { get }

  /// The value at the position, valid until the next move; only after a move that found one.
  var value: ByteView { get }

  /// Called with damaged keys, which moves then skip. While it is nil, a move to damaged keys throws. Set it before the first move.
  var skipping: ((UnreadableKeys) -> Void)? { get set }
}
