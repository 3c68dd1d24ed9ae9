package import RuledCore
import RuledJSON

/// Writes JSON-RPC answers and notifications into a buffer, without the newline that ends a line.
package enum ReplyWriter {
  /// Begins an answer: the result has to follow, then `endResult`; a nil id is `null`.
  package static func beginResult(id: ByteView?, to buffer: ByteBuffer) {
    var writer = beginAnswer(id: id, to: buffer)
    writer.member("result")
  }

  package static func endResult(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "}")) }

  package static func result(_ value: JSONValue, id: ByteView?, to buffer: ByteBuffer) {
    beginResult(id: id, to: buffer)
    value.write(to: buffer)
    endResult(to: buffer)
  }

  /// Writes the answer to a request that was not executed; a nil id is `null`.
  package static func error(_ error: RequestError, id: ByteView?, to buffer: ByteBuffer) {
    var writer = beginAnswer(id: id, to: buffer)
    writer.member("error")
    error.write(to: &writer)
    writer.endObject()
  }

  /// Replaces the contents of `buffer` by an error reply; one that stands alone, outside of a request batch, ends with a newline.
  package static func error(_ error: RequestError, id: ByteView?, isAlone: Bool, replacing buffer: ByteBuffer) {
    buffer.removeAll()
    self.error(error, id: id, to: buffer)
    if isAlone { endLine(to: buffer) }
  }

  /// Begins a notification: the params have to follow, then `endNotification`.
  package static func beginNotification(_ method: StaticString, to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    writer.member("method", plain: method)
    writer.member("params")
  }

  package static func endNotification(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "}")) }

  package static func endLine(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "\n")) }

  @inline(__always)
  private static func beginAnswer(id: ByteView?, to buffer: ByteBuffer) -> JSONWriter {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    writer.member("id")
    if let id { writer.raw(id) } else { writer.null() }
    return writer
  }
}

/// Writes the answers to a request batch as one array; a batch of notifications has none.
package struct BatchReply {
  private var count = 0

  package init() {}

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
