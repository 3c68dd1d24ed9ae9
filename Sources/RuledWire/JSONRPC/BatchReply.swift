package import RuledCore

/// Writes the answers to a request batch as one array; a batch of notifications has none.
package struct BatchReply {
  private var count = 0

  package init() {}

  /// Whether there is nothing to send.
  package var isEmpty: Bool { count == 0 }

  /// Writes the bracket or comma before the next answer, which the caller then writes.
  package mutating func begin(to buffer: ByteBuffer) {
    buffer.append(count == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
    count += 1
  }

  /// Closes the array; writes nothing if there are no answers.
  package func end(to buffer: ByteBuffer) {
    if count > 0 { buffer.append(UInt8(ascii: "]")) }
  }
}
