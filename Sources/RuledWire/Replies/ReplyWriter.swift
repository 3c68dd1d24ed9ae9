package import RuledCore

/// Writes JSON-RPC answers and notifications into a buffer, without the newline that ends a line.
package enum ReplyWriter {
  /// Begins an answer: the result has to follow, then `endResult`; a nil id is `null`.
  package static func beginResult(id: UnsafeRawBufferPointer?, to buffer: ByteBuffer) {
    buffer.append("{\"jsonrpc\":\"2.0\",\"id\":" as StaticString)
    append(id, to: buffer)
    buffer.append(",\"result\":" as StaticString)
  }

  /// Ends an answer that `beginResult` began.
  package static func endResult(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "}")) }

  /// Writes an answer whose result is `json`.
  package static func result(_ json: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer?, to buffer: ByteBuffer) {
    beginResult(id: id, to: buffer)
    buffer.append(json)
    endResult(to: buffer)
  }

  /// Writes the answer to what was not carried out; a nil id is `null`.
  package static func error(_ error: RequestError, id: UnsafeRawBufferPointer?, to buffer: ByteBuffer) {
    buffer.append("{\"jsonrpc\":\"2.0\",\"id\":" as StaticString)
    append(id, to: buffer)
    buffer.append(",\"error\":" as StaticString)
    error.write(to: buffer)
    buffer.append(UInt8(ascii: "}"))
  }

  /// Begins a notification: the params have to follow, then `endNotification`.
  package static func beginNotification(_ method: StaticString, to buffer: ByteBuffer) {
    buffer.append("{\"jsonrpc\":\"2.0\",\"method\":\"" as StaticString)
    buffer.append(method)
    buffer.append("\",\"params\":" as StaticString)
  }

  /// Ends a notification that `beginNotification` began.
  package static func endNotification(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "}")) }

  /// Ends a line.
  package static func endLine(to buffer: ByteBuffer) { buffer.append(UInt8(ascii: "\n")) }

  private static func append(_ id: UnsafeRawBufferPointer?, to buffer: ByteBuffer) {
    if let id {
      buffer.append(id)
    } else {
      buffer.append("null" as StaticString)
    }
  }
}
