import RuledCore

/// The request line and the fields of a request, added line by line and checked to the letter of RFC 9112.
///
/// A request that a proxy and a server could read differently is refused and never repaired: a proxy in front must not see another request
/// than this server.
package struct HTTPRequestHead: Sendable {
  /// How the end of the body is found.
  enum BodyFraming: Sendable, Equatable {
    case none
    /// The body has so many bytes; `Int.max` for a number that does not fit.
    case length(Int)
    case chunked
  }

  /// How many fields a head or a trailer may have.
  static let maximumFields = 100

  /// The method as sent.
  package private(set) var method = ""
  /// The target, not decoded.
  package private(set) var target = HTTPTarget("/")
  /// The version's second digit, 0 or 1.
  package private(set) var minorVersion = 1
  package private(set) var headers = HTTPHeaders()

  /// Reads the request line, given without its end.
  mutating func parseRequestLine(_ line: [UInt8]) throws(HTTPError) {
    let space = UInt8(ascii: " ")
    guard let first = line.firstIndex(of: space), let last = line.lastIndex(of: space), first < last else {
      throw HTTPError(400, "a request line is a method, a target and HTTP/1.1, with one space between")
    }
    guard line[..<first].isToken, first <= 32 else { throw HTTPError(400, "the method is not a token") }
    method = line[..<first].text
    minorVersion = try Self.minorVersion(Array(line[(last + 1)...]))
    guard first + 1 < last else { throw HTTPError(400, "the target is missing") }
    target = try Self.target(line[(first + 1)..<last].text, method: method)
  }

  private static func minorVersion(_ version: [UInt8]) throws(HTTPError) -> Int {
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."), version[5].isDigit,
      version[7].isDigit
    else { throw HTTPError(400, "the version must be HTTP/1.1") }
    guard version[5] == UInt8(ascii: "1") else { throw HTTPError(505, "this server speaks HTTP/1.1") }
    guard version[7] <= UInt8(ascii: "1") else { throw HTTPError(400, "the version must be HTTP/1.1") }
    return Int(version[7] - UInt8(ascii: "0"))
  }

  private static func target(_ text: String, method: String) throws(HTTPError) -> HTTPTarget {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw HTTPError(400, "a target has visible ASCII characters without '#': encode others with '%'")
    }
    if text.hasPrefix("/") || text == "*" && method == "OPTIONS" { return HTTPTarget(text) }
    let scheme = HTTPTarget.schemeLength(text[...])
    let authority = text.dropFirst(scheme).prefix { $0 != "/" && $0 != "?" }
    guard scheme > 0, !authority.isEmpty, isHost(String(authority)) else {
      throw HTTPError(400, "a target begins with '/' or is a URL of this server")
    }
    return HTTPTarget(text)
  }

  /// Whether the text is a host with or without a port, or empty.
  private static func isHost(_ text: String) -> Bool {
    var name = text.utf8[...]
    if let colon = name.lastIndex(of: UInt8(ascii: ":")), name[colon...].dropFirst().allSatisfy(\.isDigit) {
      let port = name[colon...].dropFirst()
      guard port.isEmpty || UInt16(Substring(port)) != nil else { return false }
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

  /// Adds the field of a line, given without its end.
  mutating func appendField(_ line: [UInt8]) throws(HTTPError) {
    let (name, value) = try Self.field(line)
    guard headers.fields.count < Self.maximumFields else {
      throw HTTPError(431, "a request may have \(Self.maximumFields) fields at most", .tooLarge)
    }
    headers.append(name, value)
  }

  static func field(_ line: [UInt8]) throws(HTTPError) -> (name: String, value: ArraySlice<UInt8>) {
    guard let first = line.first, !first.isBlank else {
      throw HTTPError(400, "a field's line begins with its name: folded lines are refused")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw HTTPError(400, "a field has no colon") }
    guard line[..<colon].isToken else {
      throw HTTPError(400, "a field's name is a token, directly followed by the colon")
    }
    return (line[..<colon].text, line[(colon + 1)...].trimming(\.isBlank))
  }

  /// Checks the fields of which there is one and finds the framing of the body, once all fields are added.
  func bodyFraming() throws(HTTPError) -> BodyFraming {
    let hosts = headers.count(of: "host")
    guard hosts == 1 || hosts == 0 && minorVersion == 0, Self.isHost(headers["host"] ?? "") else {
      throw HTTPError(400, "a request has one Host")
    }
    for name in ["authorization", "content-type"] where headers.count(of: name) > 1 {
      throw HTTPError(400, "a request has one \(name)")
    }
    let lengths = headers.count(of: "content-length")
    let encodings = headers.count(of: "transfer-encoding")
    guard lengths + encodings <= 1 else {
      throw HTTPError(400, "a request has one Content-Length or one Transfer-Encoding")
    }
    if encodings == 1 {
      guard minorVersion == 1, headers["transfer-encoding"]?.lowercased() == "chunked" else {
        throw HTTPError(400, "the only Transfer-Encoding is 'chunked', in HTTP/1.1")
      }
      return .chunked
    }
    guard let text = headers["content-length"]?.utf8 else { return .none }
    guard !text.isEmpty, text.allSatisfy({ $0.isDigit }) else {
      throw HTTPError(400, "Content-Length is a number of bytes")
    }
    return .length(Int(String(text)) ?? Int.max)
  }

  /// Whether the client waits for "100 Continue" before it sends the body.
  package var expectsContinue: Bool { minorVersion == 1 && headers["expect"]?.lowercased() == "100-continue" }

  package var keepsAlive: Bool {
    var options: Set<String> = []
    for field in headers.fields where field.name == "connection" {
      for option in field.value.split(separator: ",") {
        options.insert(option.filter { !$0.isWhitespace }.lowercased())
      }
    }
    return minorVersion == 1 ? !options.contains("close") : options.contains("keep-alive") && !options.contains("close")
  }
}

extension UInt8 {
  /// Whether it is a space or a tab.
  var isBlank: Bool { self == 0x20 || self == 0x09 }
  var isHexDigit: Bool { isDigit || (0x41...0x46).contains(self) || (0x61...0x66).contains(self) }
}

extension Sequence<UInt8> {
  /// Whether the bytes are a token of RFC 9110, section 5.6.2, such as a method or a field's name.
  var isToken: Bool {
    var isEmpty = true
    for byte in self {
      guard byte.isDigit || byte.isLetter || "!#$%&'*+-.^_`|~".utf8.contains(byte) else { return false }
      isEmpty = false
    }
    return !isEmpty
  }
}
