package import RuledCore

/// What `watch` takes: which changes to tell.
package struct WatchParams: Sendable, Equatable {
  /// The one subject to watch, or nil for all.
  package let subject: String?
  /// How the subjects to watch begin; empty for all.
  package let prefix: String
  /// The plugins whose changes are told, or nil for all.
  package let plugins: [String]?
  /// The sequence after which to begin, or nil for now.
  package let after: Int64?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subject().map { String(decoding: $0, as: UTF8.self) }
    prefix = try reader.string("prefix") ?? ""
    plugins = try Self.plugins(reader)
    after = try reader.integer("after", in: 0...Int64.max)
  }

  private static func plugins(_ reader: ParamsReader) throws(RequestError) -> [String]? {
    guard let value = reader.value("plugins") else { return nil }
    guard value.kind == .array else { throw reader.error("plugins", "must be an array of names") }
    var names: [String] = []
    for element in value.children {
      guard let name = element.text else {
        throw .invalidParams(path: "params.plugins[\(names.count)]", "must be a string")
      }
      names.append(name)
    }
    return names
  }
}
