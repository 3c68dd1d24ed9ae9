/// A stream of bytes and what the HTTP reader must find in it.
package struct HTTPCase: Sendable, CustomStringConvertible {
  package let name: String
  /// The bytes of the stream.
  package let text: String
  /// The accepted requests, each as `METHOD path body`.
  package let requests: [String]
  /// The status of the refusal; 0 without one.
  package let status: Int

  private init(_ name: String, _ text: String, _ requests: [String] = [], status: Int = 0) {
    self.name = name
    self.text = text
    self.requests = requests
    self.status = status
  }

  package var description: String { name }

  /// A second request, to find out whether the end of the first one is where it should be.
  package static let next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"

  private static func get(_ line: String, _ fields: String = "Host: a\r\n") -> String {
    "\(line)\r\n\(fields)\r\n\(next)"
  }
  private static func field(_ line: String) -> String { get("GET /x HTTP/1.1", "Host: a\r\n\(line)\r\n") }
  private static func post(_ fields: String, _ body: String = "") -> String {
    "POST /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)\(next)"
  }
  private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked", body) }

  /// Streams whose requests are all accepted.
  package static let accepted: [HTTPCase] = [
    .init("a request without a body", get("GET /x HTTP/1.1"), ["GET /x ", "GET /next "]),
    .init("a body of a length", post("Content-Length: 5", "a\r\n\0b"), ["POST /x a\r\n\0b", "GET /next "]),
    .init("a length with zeros in front", post("Content-Length: 003", "abc"), ["POST /x abc", "GET /next "]),
    .init("a length of 0", post("Content-Length: 0"), ["POST /x ", "GET /next "]),
    .init("white space around a value", post("Content-Length: \t 1 \t", "a"), ["POST /x a", "GET /next "]),
    .init("chunks", chunked("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), ["POST /x abc0123456789", "GET /next "]),
    .init("chunked in capitals", post("transfer-encoding: CHUNKED", "0\r\n\r\n"), ["POST /x ", "GET /next "]),
    .init("chunk extensions", chunked("1;a=b;c=\"d\"\r\nx\r\n0;e\r\n\r\n"), ["POST /x x", "GET /next "]),
    .init("a trailer", chunked("1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n"), ["POST /x x", "GET /next "]),
    .init("HTTP/1.0 without a host", "GET /x HTTP/1.0\r\n\r\n", ["GET /x "]),
    .init("an absolute target", get("GET http://b:1/x?y HTTP/1.1"), ["GET /x ", "GET /next "]),
    .init("an absolute target with @ in its path", get("GET https://b/x@y HTTP/1.1"), ["GET /x@y ", "GET /next "]),
    .init("a target of asterisk", get("OPTIONS * HTTP/1.1"), ["OPTIONS * ", "GET /next "]),
    .init("an empty line in front", "\r\n\(next)\r\n\(next)", ["GET /next ", "GET /next "]),
    .init("an empty host", get("GET /x HTTP/1.1", "Host:\r\n"), ["GET /x ", "GET /next "]),
    .init("hosts of all kinds", get("GET /x HTTP/1.1", "Host: [::1]:80\r\n"), ["GET /x ", "GET /next "]),
    .init("a value that is not UTF-8", field("X: \u{e9}"), ["GET /x ", "GET /next "]),
  ]

  /// Streams whose first request is refused.
  package static let refused: [HTTPCase] = [
    // Framing.
    .init("a blank before the colon", post("Content-Length : 33"), status: 400),
    .init("a negative length", post("Content-Length: -1"), status: 400),
    .init("a length with a sign", post("Content-Length: +1", "a"), status: 400),
    .init("a hexadecimal length", post("Content-Length: 0x1", "a"), status: 400),
    .init("a list of lengths", post("Content-Length: 1, 1", "a"), status: 400),
    .init("an empty length", post("Content-Length:"), status: 400),
    .init("a length with NUL", post("Content-Length: 1\0"), status: 400),
    .init("a length out of range", post("Content-Length: 99999999999999999999999"), status: 413),
    .init("a length far over the limit", post("Content-Length: 17000000000"), status: 413),
    .init("two lengths", post("Content-Length: 0\r\nContent-Length: 5"), status: 400),
    .init("two equal lengths", post("Content-Length: 0\r\ncontent-length: 0"), status: 400),
    .init(
      "a length and an encoding", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), status: 400),
    .init(
      "an encoding and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"), status: 400),
    .init("two authorizations", field("Authorization: Bearer a\r\nauthorization: Bearer b"), status: 400),
    .init("two content types", field("Content-Type: a/b\r\nContent-Type: a/b"), status: 400),
    .init("a port out of range", get("GET /x HTTP/1.1", "Host: a:65536\r\n"), status: 400),
    .init("an unknown encoding", post("Transfer-Encoding: x"), status: 400),
    .init("identity", post("Transfer-Encoding: identity"), status: 400),
    .init("gzip, chunked", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), status: 400),
    .init("chunked, chunked", post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n"), status: 400),
    .init("chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), status: 400),
    .init(
      "chunked and something", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "0\r\n\r\n"), status: 400),
    .init("chunked with NUL", post("Transfer-Encoding: chunked\0", "0\r\n\r\n"), status: 400),
    .init("chunked with a vertical tab", post("Transfer-Encoding: \u{b}chunked", "0\r\n\r\n"), status: 400),
    .init("an empty encoding", post("Transfer-Encoding:"), status: 400),
    .init("chunked in HTTP/1.0", "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 400),
    // Chunks.
    .init("a chunk size with 0x", chunked("0x1\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size with a plus", chunked("+1\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size with a minus", chunked("-1\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size with a blank", chunked("1 \r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size with an underscore", chunked("1_0\r\na\r\n0\r\n\r\n"), status: 400),
    .init("no chunk size", chunked("\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size that overflows", chunked("10000000000000001\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk size's line of LF", chunked("1\na\r\n0\r\n\r\n"), status: 400),
    .init("a chunk that ends in LF", chunked("1\r\na\n0\r\n\r\n"), status: 400),
    .init("a chunk longer than its size", chunked("1\r\nab\r\n0\r\n\r\n"), status: 400),
    .init("an extension with CR", chunked("1;a\rb\r\na\r\n0\r\n\r\n"), status: 400),
    .init("an extension with LF", chunked("1;a\nb\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a huge extension", chunked("1;\(String(repeating: "x", count: 300))\r\na\r\n0\r\n\r\n"), status: 400),
    .init("a trailer without a colon", chunked("0\r\nabc\r\n\r\n"), status: 400),
    .init("a trailer with a blank before the colon", chunked("0\r\na : b\r\n\r\n"), status: 400),
    .init("a folded trailer", chunked("0\r\na: b\r\n c\r\n\r\n"), status: 400),
    .init("a trailer with NUL", chunked("0\r\na: \0\r\n\r\n"), status: 400),
    .init("a trailer of LF", chunked("0\r\n\n"), status: 400),
    .init("a trailer too long", chunked("0\r\na: \(String(repeating: "x", count: 65_536))\r\n\r\n"), status: 431),
    // Lines.
    .init("a request line of LF", "GET /x HTTP/1.1\nHost: a\r\n\r\n", status: 400),
    .init("a field of LF", "GET /x HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", status: 400),
    .init("an end of LF", "GET /x HTTP/1.1\r\nHost: a\r\n\n", status: 400),
    .init("NUL in the path", get("GET /x\0y HTTP/1.1"), status: 400),
    .init("NUL in the method", get("G\0T /x HTTP/1.1"), status: 400),
    .init("NUL in a field", field("X: a\0b"), status: 400),
    .init("NUL in a name", field("X\0: a"), status: 400),
    .init("CR in the path", get("GET /x\ry HTTP/1.1"), status: 400),
    .init("CR in the method", get("G\rT /x HTTP/1.1"), status: 400),
    .init("CR in a field", field("X: a\rb"), status: 400),
    .init("two CR", field("X: a\r"), status: 400),
    .init("DEL in a field", field("X: \u{7f}"), status: 400),
    // The request line.
    .init("HTTP/1.2", get("GET /x HTTP/1.2"), status: 400),
    .init("http/1.1", get("GET /x http/1.1"), status: 400),
    .init("HTTP/1.10", get("GET /x HTTP/1.10"), status: 400),
    .init("HTTP/1,1", get("GET /x HTTP/1,1"), status: 400),
    .init("HTTP/0.9 without a version", "GET /x\r\n", status: 400),
    .init("HTTP/0.9 by name", get("GET /x HTTP/0.9"), status: 505),
    .init("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505),
    .init("HTTP/3.0", get("GET /x HTTP/3.0"), status: 505),
    .init("an empty method", get(" /x HTTP/1.1"), status: 400),
    .init("a method that is no token", get("G{T /x HTTP/1.1"), status: 400),
    .init("a long method", get("\(String(repeating: "G", count: 33)) /x HTTP/1.1"), status: 400),
    .init("two spaces", get("GET  /x HTTP/1.1"), status: 400),
    .init("a space at the end", get("GET /x HTTP/1.1 "), status: 400),
    .init("a tabulator", get("GET\t/x HTTP/1.1"), status: 400),
    .init("a space in the target", get("GET /x y HTTP/1.1"), status: 400),
    .init("no target", get("GET HTTP/1.1"), status: 400),
    .init("an empty target", get("GET  HTTP/1.1"), status: 400),
    .init("a target without a slash", get("GET x HTTP/1.1"), status: 400),
    .init("a target with a fragment", get("GET /x#y HTTP/1.1"), status: 400),
    .init("a target that is not ASCII", get("GET /é HTTP/1.1"), status: 400),
    .init("asterisk for GET", get("GET * HTTP/1.1"), status: 400),
    .init("CONNECT", get("CONNECT a:1 HTTP/1.1"), status: 400),
    .init("an absolute target with a user", get("GET http://u@b/x HTTP/1.1"), status: 400),
    .init("an absolute target without a host", get("GET http:///x HTTP/1.1"), status: 400),
    .init("another scheme", get("GET ftp://a/x HTTP/1.1"), status: 400),
    .init("two empty lines in front", "\r\n\r\n\(next)", status: 400),
    .init("a long target", get("GET /\(String(repeating: "x", count: 17_000)) HTTP/1.1"), status: 414),
    // Fields.
    .init("no name", field(": b"), status: 400),
    .init("no colon", field("abc"), status: 400),
    .init("a name that is no token", field("X@(: a"), status: 400),
    .init("a folded line", field("X: a\r\n b"), status: 400),
    .init("a line folded with a tabulator", field("X: a\r\n\tb"), status: 400),
    .init("white space before the first field", get("GET /x HTTP/1.1", " X: a\r\nHost: a\r\n"), status: 400),
    .init("no host", get("GET /x HTTP/1.1", ""), status: 400),
    .init("two hosts", get("GET /x HTTP/1.1", "Host: a\r\nHost: b\r\n"), status: 400),
    .init("two hosts in one", get("GET /x HTTP/1.1", "Host: a, b\r\n"), status: 400),
    .init("two hosts in HTTP/1.0", get("GET /x HTTP/1.0", "Host: a\r\nHost: a\r\n"), status: 400),
    .init("a host with a path", get("GET /x HTTP/1.1", "Host: a/b\r\n"), status: 400),
    .init("a host with a user", get("GET /x HTTP/1.1", "Host: u@a\r\n"), status: 400),
    .init("a long head", field("X: \(String(repeating: "x", count: 65_536))"), status: 431),
    .init("too many fields", field(Array(repeating: "X: a", count: 100).joined(separator: "\r\n")), status: 431),
  ]
}
