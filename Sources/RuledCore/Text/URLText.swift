/// The parts of a URL as rules see them (`url.parse`), each percent-decoded once.
///
/// The scheme is in lower case, and so is the host of the web's own schemes; a custom scheme's host keeps its case, as it
/// may well be an id. `+` stays `+`. An escape that is malformed, or whose byte makes no UTF-8, stays as it is.
package struct URLText: Sendable, Equatable {
  /// One parameter of the query.
  package struct Parameter: Sendable, Equatable {
    /// Its name, decoded.
    package var name: String
    /// Its value, decoded; empty when there is no `=`.
    package var value: String
  }

  /// The scheme without its colon, in lower case.
  package var scheme: String
  /// The part before `@` in the authority, or nil.
  var userInfo: String?
  /// The host, without the brackets of an IPv6 address; nil without `//`, and empty in `app:///path`.
  package var host: String?
  package var port: Int?
  /// The path, empty when there is none.
  package var path: String
  /// The parameters in order, each name once: of repeated ones the first wins.
  package var query: [Parameter]
  /// The part after `#`, or nil.
  package var fragment: String?

  /// The value of the parameter of that name.
  subscript(parameter name: String) -> String? { query.first { $0.name.isIdentical(to: name) }?.value }
}

extension URLText {
  /// The parts of an absolute URL of any scheme.
  ///
  /// Real links are often malformed, so spaces and letters beyond ASCII are kept as they are everywhere but in the scheme and the host.
  ///
  /// - Throws: What is wrong.
  package static func parse(_ text: String) throws(URLTextError) -> URLText {
    try text.withView { bytes throws(URLTextError) in try parse(bytes) }
  }

  /// The parts of an absolute URL.
  ///
  /// - Throws: What is wrong.
  static func parse(_ bytes: ByteView) throws(URLTextError) -> URLText {
    guard String(validating: bytes, as: UTF8.self) != nil else { throw URLTextError("the URL is not UTF-8") }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw URLTextError("a control character in the URL")
    }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else {
      throw URLTextError("the URL has no scheme")
    }
    var url = URLText(scheme: String(decoding: bytes[..<colon], as: UTF8.self).lowercased(), path: "", query: [])
    var rest = bytes[(colon + 1)...]
    if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
      url.fragment = PercentText.decode(rest[(hash + 1)...])
      rest = rest[..<hash]
    }
    if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
      url.query = parameters(rest[(mark + 1)...])
      rest = rest[..<mark]
    }
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      try url.readAuthority(rest[..<slash])
      rest = rest[slash...]
    }
    if url.isWeb, url.host?.isEmpty ?? true { throw URLTextError("the URL has no host") }
    url.path = PercentText.decode(rest)
    return url
  }

  private var isWeb: Bool { ["http", "https", "ws", "wss", "ftp"].contains(scheme) }

  private static func isScheme(_ bytes: Slice<ByteView>) -> Bool {
    guard let first = bytes.first, first.isLetter else { return false }
    return bytes.allSatisfy { byte in
      byte.isLetter || byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: ".")
    }
  }

  private mutating func readAuthority(_ authority: Slice<ByteView>) throws(URLTextError) {
    var rest = authority
    if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
      userInfo = PercentText.decode(rest[..<at])
      rest = rest[(at + 1)...]
    }
    var host = rest
    if rest.first == UInt8(ascii: "[") {
      guard let close = rest.firstIndex(of: UInt8(ascii: "]")) else { throw URLTextError("the URL's host lacks ']'") }
      host = rest[(rest.startIndex + 1)..<close]
      rest = rest[(close + 1)...]
      guard rest.isEmpty || rest.first == UInt8(ascii: ":") else {
        throw URLTextError("the URL's host goes on behind ']'")
      }
    } else if let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
      host = rest[..<colon]
      rest = rest[colon...]
    } else {
      rest = rest[rest.endIndex...]
    }
    let digits = rest.dropFirst()
    if !digits.isEmpty {
      guard digits.allSatisfy(\.isDigit), let number = UInt16(String(decoding: digits, as: UTF8.self)) else {
        throw URLTextError("the URL's port is no number up to 65535")
      }
      port = Int(number)
    }
    guard !host.contains(UInt8(ascii: " ")) else { throw URLTextError("a space in the URL's host") }
    let decoded = PercentText.decode(host)
    self.host = isWeb ? decoded.lowercased() : decoded
  }

  private static func parameters(_ query: Slice<ByteView>) -> [Parameter] {
    var parameters: [Parameter] = []
    var seen: Set<ExactName> = []
    for piece in query.split(separator: UInt8(ascii: "&")) {
      let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
      let name = PercentText.decode(piece[..<equals])
      guard seen.insert(ExactName(text: name)).inserted else { continue }
      parameters.append(Parameter(name: name, value: PercentText.decode(piece[equals...].dropFirst())))
    }
    return parameters
  }
}

/// Why a text is no URL, in a few words for the author of a rule.
package struct URLTextError: Error, Sendable, Equatable {
  package var message: String

  /// An error with its words.
  init(_ message: String) { self.message = message }
}
