import RuledCore

/// The parts of the target of an HTTP request, not decoded.
package struct HTTPTarget: Sendable, Equatable {
  /// The authority of a target in absolute form, which replaces the `Host` header; else nil.
  package let authority: String?
  /// The path as sent.
  package let path: String
  /// The part after the first `?`, as sent; empty without one.
  package let query: String

  package init(_ target: String) {
    var remaining = target[...]
    authority = Self.removeAuthority(from: &remaining)
    if let hash = remaining.utf8.firstIndex(of: UInt8(ascii: "#")) { remaining = remaining[..<hash] }
    guard let mark = remaining.utf8.firstIndex(of: UInt8(ascii: "?")) else {
      path = remaining.isEmpty ? "/" : String(remaining)
      query = ""
      return
    }
    path = mark == remaining.startIndex ? "/" : String(remaining[..<mark])
    query = String(remaining[remaining.utf8.index(after: mark)...])
  }

  /// The length of `http://` or `https://` at the start of a target; 0 without either.
  static func schemeLength(_ target: Substring) -> Int {
    let start = target.prefix(8).lowercased()
    return start.hasPrefix("http://") ? 7 : start == "https://" ? 8 : 0
  }

  private static func removeAuthority(from target: inout Substring) -> String? {
    let length = schemeLength(target)
    guard length > 0 else { return nil }
    target = target.dropFirst(length)
    let end = target.utf8.firstIndex { "/?#".utf8.contains($0) } ?? target.endIndex
    let authority = target[..<end]
    target = target[end...]
    return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority)
  }

  /// The parts of the path between its slashes, each decoded once; nil for a path that does not begin with a slash.
  var segments: [String]? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    return path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(Self.decode)
  }

  /// The parameters of the query in order, decoded once with `+` kept; of repeated ones the first.
  package var parameters: [(name: String, value: String)] {
    var names: Set<String> = []
    return allParameters.filter { names.insert($0.name).inserted }
  }

  /// A name that the query has more than once; nil without one.
  package var repeatedParameter: String? {
    var names: Set<String> = []
    return allParameters.first { !names.insert($0.name).inserted }?.name
  }

  private var allParameters: [(name: String, value: String)] {
    query.split(separator: "&").map { piece in
      let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
      return (Self.decode(piece[..<equals]), Self.decode(piece[equals...].dropFirst()))
    }
  }

  /// The parameters as forms and libraries write them: with `+` for a space.
  package var formParameters: [(name: String, value: String)] {
    HTTPTarget(path + "?" + query.replacing("+", with: "%20")).parameters
  }

  /// `text` with its percent escapes decoded once.
  static func decode(_ text: Substring) -> String { String(text).withView { PercentText.decode($0[...]) } }
}
