package import RuledCore
internal import RuledReports

extension JSONValue {
  /// How deep a daemon's answer may nest: it wraps sent values, so it may be deeper than a request.
  static let replyDepth = 4 * Limits.jsonDepth

  /// The members of an object, one a line, with their values as `text` puts them.
  func lines(_ style: Style, _ text: (_ name: String, _ value: JSONValue) -> String) -> String {
    let members = objectValue?.members ?? [], width = members.map(\.name.count).max() ?? 0
    return members.map { name, value in
      style.dim(name.printable) + String(repeating: " ", count: width - name.count) + "  \(text(name, value))\n"
    }.joined()
  }

  /// Parses `text`; nil when it is not JSON.
  package init?(text: String) {
    guard let value = try? JSONValue(parsing: text, maximumDepth: Self.replyDepth) else { return nil }
    self = value
  }
}
