package struct HTTPRoute: Sendable, Equatable {
  package let endpoint: HTTPEndpoint
  /// The name in the path, decoded; empty for a path without one.
  package let item: String

  /// The route of a path; nil for an unknown path.
  package init?(_ target: HTTPTarget) {
    guard let segments = target.segments else { return nil }
    for (endpoint, pattern) in HTTPEndpoint.patterns where pattern.count == segments.count {
      if let item = Self.item(segments, pattern) {
        self.init(endpoint, item)
        return
      }
    }
    return nil
  }

  init(_ endpoint: HTTPEndpoint, _ item: String = "") {
    self.endpoint = endpoint
    self.item = item
  }

  /// The name in the segments if they match the pattern; nil if they don't.
  private static func item(_ segments: [String], _ pattern: [HTTPEndpoint.Segment]) -> String? {
    var item = ""
    for (segment, expected) in zip(segments, pattern) {
      switch expected {
      case .fixed(let text): guard segment == text else { return nil }
      case .item:
        guard !segment.isEmpty else { return nil }
        item = segment
      }
    }
    return item
  }
}
