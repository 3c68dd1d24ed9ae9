import RuledCore

/// The target of an HTTP request, taken apart and not decoded.
package struct HTTPTarget: Sendable, Equatable {
  /// The authority of a target in absolute form, which counts instead of the `Host` header; else nil.
  package let authority: String?
  /// The path as sent.
  package let path: String
  /// What stands behind the first `?`, as sent; empty without one.
  package let query: String

  /// Takes a target apart.
  package init(_ raw: String) {
    var rest = raw[...]
    authority = Self.takeAuthority(&rest)
    if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }
    guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else {
      path = rest.isEmpty ? "/" : String(rest)
      query = ""
      return
    }
    path = mark == rest.startIndex ? "/" : String(rest[..<mark])
    query = String(rest[rest.utf8.index(after: mark)...])
  }

  private static func takeAuthority(_ rest: inout Substring) -> String? {
    let lower = rest.prefix(8).lowercased()
    let length = lower.hasPrefix("http://") ? 7 : lower.hasPrefix("https://") ? 8 : 0
    guard length > 0 else { return nil }
    rest = rest.dropFirst(length)
    let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
    let authority = rest[..<end]
    rest = rest[end...]
    return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority)
  }

  /// The parts of the path between its slashes, each decoded once; nil for a path that begins with none.
  var segments: [String]? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    return path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(Self.decode)
  }

  /// The parameters of the query in order, decoded once with `+` kept, with the first of repeated ones.
  package var parameters: [(name: String, value: String)] {
    var parameters: [(name: String, value: String)] = []
    for piece in query.split(separator: "&") {
      let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
      let name = Self.decode(piece[..<equals])
      guard !parameters.contains(where: { $0.name == name }) else { continue }
      parameters.append((name, Self.decode(piece[equals...].dropFirst())))
    }
    return parameters
  }

  /// `text` with its escapes decoded once.
  static func decode(_ text: Substring) -> String {
    var text = text
    return text.withUTF8 { PercentText.decode(UnsafeRawBufferPointer($0)[...]) }
  }
}
