import RuledCore
import RuledWire

/// A whole response, not yet handed to the connection.
struct HTTPResponse: Sendable {
  /// The status code.
  var status: Int
  /// The header fields beside those of the framing.
  var headers: [(name: String, value: String)]
  /// The body.
  var body: [UInt8]

  /// A response of some content type.
  init(_ status: Int, type: String, _ body: [UInt8]) {
    self.status = status
    headers = [("content-type", type), ("cache-control", "no-store")]
    self.body = body
  }

  /// JSON that is there already.
  init(_ status: Int, json body: [UInt8]) { self.init(status, type: "application/json", body) }

  /// A JSON value.
  init(_ value: JSONValue) { self.init(200, json: Array(value.text.utf8)) }

  /// The error object, under the status that says the same unless another is given.
  init(_ error: RequestError, status: Int? = nil) {
    let buffer = ByteBuffer()
    error.write(to: buffer)
    self.init(status ?? error.httpStatus, json: Array(buffer.bytes))
    if let seconds = error.retryAfter { headers.append(("retry-after", String(seconds))) }
  }

  /// What JSON-RPC answered.
  init(_ reply: ReplyText) {
    self.init(reply.code?.httpStatus ?? 200, json: reply.body)
    if reply.code == .overloaded { headers.append(("retry-after", "1")) }
  }
}
