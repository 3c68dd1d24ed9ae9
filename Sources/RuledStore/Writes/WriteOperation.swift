/// One write of a set; the bytes belong to the set and are valid until it changes.
package enum WriteOperation {
  /// The value now stands under the key.
  case put(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  /// Nothing stands under the key.
  case delete(key: UnsafeRawBufferPointer)
}
