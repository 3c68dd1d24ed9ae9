package import RuledCore

/// Why a request is not taken: what it is answered with before its connection is closed.
package struct HTTPFault: Error, Sendable, Equatable {
  /// The HTTP status.
  package let status: Int
  /// The error object of the body.
  package let error: RequestError

  /// A fault with its status and a sentence.
  package init(_ status: Int, _ message: String, _ code: RequestError.Code = .invalidRequest) {
    self.init(status, RequestError(code, message))
  }

  /// A fault with its status and its error object.
  package init(_ status: Int, _ error: RequestError) {
    self.status = status
    self.error = error
  }
}

/// The request line and the fields of a request, taken line by line and checked by the letter of RFC 9112.
///
/// What a proxy and a server may read differently is refused and never repaired: who is in front must not see another request than we do.
package struct HTTPRequestHead: Sendable {
  /// How the end of the body is told.
  package enum Framing: Sendable, Equatable {
    /// There is no body.
    case none
    /// The body has so many bytes; `Int.max` for more than can be counted.
    case length(Int)
    /// The body comes in chunks.
    case chunked
  }

  /// The most fields that a head or a trailer has.
  package static let mostFields = 100

  /// The method, as it was sent.
  package private(set) var method = ""
  /// The target, not decoded.
  package private(set) var target = HTTPTarget("/")
  /// The version's second digit, 0 or 1.
  package private(set) var minorVersion = 1
  /// The fields.
  package private(set) var headers = HTTPHeaders()

  /// A head of which nothing has come.
  package init() {}

  // MARK: The request line

  /// Takes the request line, without its end.
  package mutating func takeRequestLine(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
    let space = UInt8(ascii: " ")
    guard let first = line.firstIndex(of: space), let last = line.lastIndex(of: space), first < last else {
      throw HTTPFault(400, "a request line is a method, a target and HTTP/1.1, with one space between")
    }
    guard line[..<first].isToken, first <= 32 else { throw HTTPFault(400, "the method is no token") }
    method = String(decoding: line[..<first], as: UTF8.self)
    minorVersion = try Self.minorVersion(line[(last + 1)...])
    guard first + 1 < last else { throw HTTPFault(400, "the target is missing") }
    target = try Self.target(String(decoding: line[(first + 1)..<last], as: UTF8.self), method)
  }

  private static func minorVersion(_ text: Slice<UnsafeRawBufferPointer>) throws(HTTPFault) -> Int {
    let bytes = Array(text)
    guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes[6] == UInt8(ascii: "."), bytes[5].isDigit,
      bytes[7].isDigit
    else { throw HTTPFault(400, "the version must be HTTP/1.1") }
    guard bytes[5] == UInt8(ascii: "1") else { throw HTTPFault(505, "this server speaks HTTP/1.1") }
    guard bytes[7] <= UInt8(ascii: "1") else { throw HTTPFault(400, "the version must be HTTP/1.1") }
    return Int(bytes[7] - UInt8(ascii: "0"))
  }

  private static func target(_ text: String, _ method: String) throws(HTTPFault) -> HTTPTarget {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw HTTPFault(400, "a target has visible ASCII characters without '#': encode others with '%'")
    }
    if text.hasPrefix("/") || text == "*" && method == "OPTIONS" { return HTTPTarget(text) }
    let head = text.prefix(8).lowercased()
    let scheme = head.hasPrefix("http://") ? 7 : head == "https://" ? 8 : 0
    let authority = text.dropFirst(scheme).prefix { $0 != "/" && $0 != "?" }
    guard scheme > 0, !authority.isEmpty, isHost(String(authority)) else {
      throw HTTPFault(400, "a target begins with '/' or is a URL of this server")
    }
    return HTTPTarget(text)
  }

  // MARK: Fields

  /// Takes a field's line, without its end.
  package mutating func takeField(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
    let (name, value) = try Self.field(line)
    guard headers.fields.count < Self.mostFields else {
      throw HTTPFault(431, "a request may have \(Self.mostFields) fields at most", .tooLarge)
    }
    headers.append(name, value)
  }

  /// The name and the value of a field's line.
  static func field(_ line: UnsafeRawBufferPointer) throws(HTTPFault) -> (name: String, value: String) {
    guard let first = line.first, !first.isBlank else {
      throw HTTPFault(400, "a field's line begins with its name: folded lines are not taken")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw HTTPFault(400, "a field has no colon") }
    guard line[..<colon].isToken else {
      throw HTTPFault(400, "a field's name is a token, with the colon right behind it")
    }
    var value = line[(colon + 1)...].drop { $0.isBlank }
    while value.last?.isBlank == true { value.removeLast() }
    return (String(decoding: line[..<colon], as: UTF8.self), text(value))
  }

  /// A value as text: UTF-8, or else each byte as the character of that number, so that different bytes stay different.
  private static func text(_ value: Slice<UnsafeRawBufferPointer>) -> String {
    String(validating: value, as: UTF8.self) ?? String(String.UnicodeScalarView(value.map { UnicodeScalar($0) }))
  }

  // MARK: The whole head

  /// Checks the host and answers how the body is framed, once all fields have come.
  package func framing() throws(HTTPFault) -> Framing {
    let hosts = headers.count("host")
    guard hosts == 1 || hosts == 0 && minorVersion == 0, Self.isHost(headers["host"] ?? "") else {
      throw HTTPFault(400, "a request has one Host")
    }
    let lengths = headers.count("content-length")
    let encodings = headers.count("transfer-encoding")
    guard lengths + encodings <= 1 else {
      throw HTTPFault(400, "a request has one Content-Length or one Transfer-Encoding")
    }
    if encodings == 1 {
      guard minorVersion == 1, headers["transfer-encoding"]?.lowercased() == "chunked" else {
        throw HTTPFault(400, "the only Transfer-Encoding is 'chunked', in HTTP/1.1")
      }
      return .chunked
    }
    guard let text = headers["content-length"]?.utf8 else { return .none }
    guard !text.isEmpty, text.allSatisfy({ $0.isDigit }) else {
      throw HTTPFault(400, "Content-Length is a number of bytes")
    }
    return .length(Int(String(text)) ?? Int.max)
  }

  /// Whether the client waits for "100 Continue" before it sends the body.
  package var expectsContinue: Bool { minorVersion == 1 && headers["expect"]?.lowercased() == "100-continue" }

  /// Whether the client wants to go on with the connection.
  package var keepsAlive: Bool {
    var options: Set<String> = []
    for field in headers.fields where field.name == "connection" {
      for option in field.value.split(separator: ",") {
        options.insert(option.filter { !$0.isWhitespace }.lowercased())
      }
    }
    return minorVersion == 1 ? !options.contains("close") : options.contains("keep-alive") && !options.contains("close")
  }

  /// Whether the text is a host with or without a port, or empty.
  private static func isHost(_ text: String) -> Bool {
    var name = text.utf8[...]
    if let colon = name.lastIndex(of: UInt8(ascii: ":")), name[colon...].dropFirst().allSatisfy({ $0.isDigit }) {
      name = name[..<colon]
    }
    if name.first == UInt8(ascii: "["), name.last == UInt8(ascii: "]") {
      return name.count > 2
        && name.dropFirst().dropLast().allSatisfy {
          $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
    }
    return name.allSatisfy { $0.isHexDigit || $0.isLetter || "-._~%!$&'()*+;=".utf8.contains($0) }
  }
}

extension UInt8 {
  /// Whether it is a space or a tabulator.
  var isBlank: Bool { self == 0x20 || self == 0x09 }
  /// Whether it is an ASCII digit.
  var isDigit: Bool { (0x30...0x39).contains(self) }
  /// Whether it is an ASCII letter.
  var isLetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
  /// Whether it is a hexadecimal digit.
  var isHexDigit: Bool { isDigit || (0x41...0x46).contains(self) || (0x61...0x66).contains(self) }
}

extension Sequence<UInt8> {
  /// Whether the bytes are a token of RFC 9110, section 5.6.2, such as a method or a field's name.
  package var isToken: Bool {
    var isEmpty = true
    for byte in self {
      guard byte.isDigit || byte.isLetter || "!#$%&'*+-.^_`|~".utf8.contains(byte) else { return false }
      isEmpty = false
    }
    return !isEmpty
  }
}
