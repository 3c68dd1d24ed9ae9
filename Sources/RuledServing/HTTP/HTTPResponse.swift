import Glibc
package import RuledCore
import RuledIO
import RuledJSON
package import RuledWire

/// A complete response that a connection has not sent yet.
package struct HTTPResponse: Sendable {
  var status: Int
  /// The header fields but those that the connection adds: date, connection and the framing of the body.
  var headers: [(name: String, value: String)]
  var body: [UInt8]
  /// The code of the error that it states, unless a worker has counted it.
  private(set) var error: RequestError.Code?

  package init(_ status: Int, type: String, _ body: [UInt8]) {
    self.status = status
    headers = [("content-type", type), ("cache-control", "no-store")]
    self.body = body
  }

  init(_ status: Int, json body: [UInt8]) { self.init(status, type: "application/json", body) }

  package init(_ value: JSONValue, status: Int = 200) { self.init(status, json: Array(value.text.utf8)) }

  /// A response with an error object, by default under the status of its code.
  package init(_ error: RequestError, status: Int? = nil) { self.init(HTTPError(error, status: status)) }

  package init(_ error: HTTPError) {
    let buffer = ByteBuffer()
    error.error.write(to: buffer)
    self.init(error.status, json: Array(buffer.bytes))
    self.error = error.error.code
    if let seconds = error.error.retryAfter { headers.append(("retry-after", String(seconds))) }
    for field in error.headers { headers.append((field.name, field.value)) }
  }

  /// A response with the result or the error of a JSON-RPC reply, or with the result's member `page`.
  init(_ reply: JSONRPCReply, page: String? = nil) {
    if let page, reply.code == nil,
      let html = reply.body.withView({ try? JSONValue(parsing: $0, maximumDepth: 4 * Limits.jsonDepth) })?[page]
    {
      self.init(200, type: "text/html; charset=utf-8", Array((html.stringValue ?? "").utf8))
      headers += [
        ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'"),
        ("x-content-type-options", "nosniff"),
      ]
      return
    }
    self.init(reply.code?.httpStatus ?? 200, json: reply.body)
    if reply.code == .overloaded { headers.append(("retry-after", "1")) }
  }

  /// The form of a response that a request asks for.
  struct Options {
    /// Whether the body is left out, for `HEAD`.
    var omitsBody = false
    /// Whether the request is HTTP/1.0, which has no chunks and wants an open connection announced.
    var isHTTP10 = false
    var closesConnection = true
  }

  func write(_ options: Options = Options(), to buffer: ByteBuffer) {
    writeHead(options, to: buffer)
    let hasBody = status != 204 && status != 304
    if hasBody { buffer.append(contentsOf: "content-length: \(body.count)\r\n") }
    buffer.append("\r\n" as StaticString)
    if hasBody, !options.omitsBody { body.withView { buffer.append($0) } }
  }

  /// Sends the response, which fits into the socket's buffer, and closes the writing side.
  package func sendLast(omitsBody: Bool = false, on socket: Int32) {
    let buffer = ByteBuffer(capacity: 1024)
    write(Options(omitsBody: omitsBody, closesConnection: true), to: buffer)
    _ = SystemCalls.send(socket, buffer.bytes)
    SystemCalls.endWriting(socket)
  }

  /// Appends the status line and the fields, without the framing of the body and the empty line.
  func writeHead(_ options: Options, to buffer: ByteBuffer) {
    buffer.append(contentsOf: "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\ndate: \(Self.date())\r\n")
    for (name, value) in headers { buffer.append(contentsOf: "\(name): \(value)\r\n") }
    if options.closesConnection {
      buffer.append("connection: close\r\n" as StaticString)
    } else if options.isHTTP10 {
      buffer.append("connection: keep-alive\r\n" as StaticString)
    }
  }

  /// The present time in the form of RFC 9110, section 5.6.7.
  private static func date() -> String {
    var seconds = time(nil)
    var calendar = tm()
    gmtime_r(&seconds, &calendar)
    return String(unsafeUninitializedCapacity: 40) { space in
      space.withMemoryRebound(to: CChar.self) {
        strftime($0.baseAddress, $0.count, "%a, %d %b %Y %H:%M:%S GMT", &calendar)
      }
    }
  }

  private static let reasons: [Int: String] = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found",
    303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
    410: "Gone", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    422: "Unprocessable Content", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 503: "Service Unavailable", 505: "HTTP Version Not Supported",
  ]
}
