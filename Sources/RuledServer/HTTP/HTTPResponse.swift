import Glibc
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

  // MARK: As it is sent

  /// How a request wants to be answered.
  struct Manner {
    /// Whether the body is left out, as `HEAD` asks for.
    var isHead = false
    /// Whether it came in HTTP/1.0, where a connection that goes on has to be announced.
    var isOld = false
    /// Whether the connection is closed behind the response.
    var closes = true
  }

  /// Appends the response as it is sent.
  func write(_ manner: Manner, to buffer: ByteBuffer) {
    writeHead(manner, to: buffer)
    let hasBody = status != 204 && status != 304
    if hasBody { buffer.append(contentsOf: "content-length: \(body.count)\r\n") }
    buffer.append("\r\n" as StaticString)
    if hasBody, !manner.isHead { body.withUnsafeBytes { buffer.append($0) } }
  }

  /// Appends the status line and the fields but for the body's framing and the empty line.
  func writeHead(_ manner: Manner, to buffer: ByteBuffer) {
    buffer.append(contentsOf: "HTTP/1.1 \(status) \(Self.reason(status))\r\ndate: \(Self.date())\r\n")
    for (name, value) in headers { buffer.append(contentsOf: "\(name): \(value)\r\n") }
    if manner.closes {
      buffer.append("connection: close\r\n" as StaticString)
    } else if manner.isOld {
      buffer.append("connection: keep-alive\r\n" as StaticString)
    }
  }

  /// The present time as RFC 9110 has it.
  private static func date() -> String {
    var seconds = time(nil)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(unsafeUninitializedCapacity: 40) { space in
      space.withMemoryRebound(to: CChar.self) {
        strftime($0.baseAddress, $0.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      }
    }
  }

  private static func reason(_ status: Int) -> StaticString {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}
