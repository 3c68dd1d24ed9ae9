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
  /// What precedes `@` in the authority, or nil.
  package var userInfo: String?
  /// The host, without the brackets of an IPv6 address; nil without `//`, and empty in `app:///path`.
  package var host: String?
  package var port: Int?
  /// The path, empty when there is none.
  package var path: String
  /// The parameters in order, each name once: of repeated ones the first wins.
  package var query: [Parameter]
  /// What follows `#`, or nil.
  package var fragment: String?

  /// The value of the parameter of that name.
  package subscript(parameter name: String) -> String? { query.first { $0.name.isIdentical(to: name) }?.value }
}

extension URLText {
  /// The parts of the absolute URL that `text` is, of whatever scheme.
  ///
  /// Real links are often malformed, so spaces and letters beyond ASCII are kept as they are everywhere but in the scheme and the host.
  ///
  /// - Throws: What is wrong.
  package static func parse(_ text: String) throws(URLTextError) -> URLText {
    try text.withView { bytes throws(URLTextError) in try parse(bytes) }
  }

  /// The parts of the absolute URL that `bytes` are.
  ///
  /// - Throws: What is wrong.
  package static func parse(_ bytes: ByteView) throws(URLTextError) -> URLText {
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

extension UInt8 {
  fileprivate var isLetter: Bool { (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") }
  fileprivate var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}

/// Why a text is no URL, in a few words for the author of a rule.
package struct URLTextError: Error, Sendable, Equatable {
  package var message: String

  /// An error with its words.
  package init(_ message: String) { self.message = message }
}

/// Percent-encoding, RFC 3986 section 2.1.
package enum PercentText {
  /// `bytes`, which are UTF-8, with their escapes decoded once.
  ///
  /// A `%` without two hexadecimal digits stays as it is, and so does an escape whose byte is no part of well-formed
  /// UTF-8; the result is UTF-8 always.
  package static func decode(_ bytes: Slice<ByteView>) -> String {
    guard bytes.contains(UInt8(ascii: "%")) else { return String(decoding: bytes, as: UTF8.self) }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var position = bytes.startIndex
    while position < bytes.endIndex {
      guard let first = escaped(bytes, position) else {
        decoded.append(bytes[position])
        position += 1
        continue
      }
      var character = [first]
      let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
      while character.count < length, let byte = escaped(bytes, position + 3 * character.count) {
        character.append(byte)
      }
      if character.count == length, String(validating: character, as: UTF8.self) != nil {
        decoded += character
        position += 3 * length
      } else {
        decoded += bytes[position..<(position + 3)]
        position += 3
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  /// `text` with its escapes decoded once; nil if they give no UTF-8.
  ///
  /// A `%` without two hexadecimal digits stays as it is.
  package static func decodeStrictly(_ text: String) -> String? {
    var decoded: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap(HexDigit.value)
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        decoded.append(digits[0] << 4 | digits[1])
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  private static func escaped(_ bytes: Slice<ByteView>, _ position: Int) -> UInt8? {
    guard position + 2 < bytes.endIndex, bytes[position] == UInt8(ascii: "%"),
      let high = HexDigit.value(bytes[position + 1]), let low = HexDigit.value(bytes[position + 2])
    else { return nil }
    return high << 4 | low
  }
}

/// Hexadecimal digits in either case.
package enum HexDigit {
  /// The value of the digit, 0 to 15, or nil if `byte` is none.
  package static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
