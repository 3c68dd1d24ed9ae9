/// One write of a set; the bytes belong to the set and are valid until it changes.
package enum WriteOperation {
  /// The value now stands under the key.
  case put(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  /// Nothing stands under the key.
  case delete(key: UnsafeRawBufferPointer)

  /// The key that it is on.
  var key: UnsafeRawBufferPointer {
    switch self {
    case .put(let key, _), .delete(let key): key
    }
  }
}
