package import RuledCore

extension StoreKey {
  /// The least key above all that begin with `prefix`; nil when there is none, since `prefix` has no byte below 255.
  package static func upperBound(_ prefix: [UInt8]) -> [UInt8]? {
    var bound = prefix
    while let last = bound.popLast() {
      if last < 255 {
        bound.append(last + 1)
        return bound
      }
    }
    return nil
  }

  /// Appends the least key above all that begin with `prefix`, which may lie in `buffer` itself.
  ///
  /// `prefix` is what the functions of `StoreKey` write, so its first byte is below 255.
  package static func upperBound(_ prefix: UnsafeRawBufferPointer, into buffer: ByteBuffer) {
    guard let last = prefix.lastIndex(where: { $0 < 255 }) else {
      preconditionFailure("a prefix of a key begins with the letter of its kind")
    }
    let final = prefix[last] + 1
    let shared = Array(prefix[..<last])
    shared.appendPart(to: buffer)
    buffer.append(final)
  }

  /// The key that `write` appends to a buffer, as an array, for places where speed is no concern.
  package static func bytes(_ write: (ByteBuffer) -> Void) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 64)
    write(buffer)
    return Array(buffer.bytes)
  }

  /// What all keys of `kind` begin with.
  package static func prefix(_ kind: Kind) -> [UInt8] { [kind.rawValue] }
}
