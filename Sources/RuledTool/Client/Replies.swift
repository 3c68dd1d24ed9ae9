package import RuledCore

extension JSONValue {
  /// How deep a daemon's answer may nest: it wraps sent values, so it may be deeper than a request.
  static let replyDepth = 4 * Limits.jsonDepth

  /// Parses `text`; nil when it is not JSON.
  package init?(text: String) {
    guard let value = try? JSONValue(parsing: text, maximumDepth: Self.replyDepth) else { return nil }
    self = value
  }
}
