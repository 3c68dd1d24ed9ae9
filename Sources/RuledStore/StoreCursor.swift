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
}
