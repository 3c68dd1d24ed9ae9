/// The kind of content in the body of a request that brings events.
package enum HTTPContent: Sendable, Equatable {
  /// One event as JSON.
  case structured
  /// An array of events as JSON.
  case batch
  /// The data of one event, whose attributes are in `ce-*` headers.
  case binary
  /// Anything else, which is refused.
  case unsupported

  /// The kind that the headers declare; a missing content type means JSON.
  package init(contentType: String?, hasAttributes: Bool) {
    let type = Self.mediaType(contentType)
    switch type {
    case "application/cloudevents+json": self = .structured
    case "application/cloudevents-batch+json": self = .batch
    case _ where type.hasPrefix("application/cloudevents"): self = .unsupported
    case _ where hasAttributes: self = .binary
    case "", "application/json": self = .structured
    default: self = .unsupported
    }
  }

  /// Whether a body of that content type is JSON; a missing content type means JSON.
  package static func isJSON(_ contentType: String?) -> Bool {
    let type = mediaType(contentType)
    return type.isEmpty || type.hasSuffix("/json") || type.hasSuffix("+json")
  }

  /// The media type in lower case, without parameters.
  static func mediaType(_ contentType: String?) -> String {
    let type = (contentType ?? "").prefix { $0 != ";" }
    return type.filter { $0 != " " && $0 != "\t" }.lowercased()
  }
}
