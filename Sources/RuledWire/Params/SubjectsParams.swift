package import RuledCore

/// What `subjects` takes.
package struct SubjectsParams: Sendable, Equatable {
  /// How the subjects begin; empty for all.
  package let prefix: String
  /// The subject after which the list goes on, or nil to begin.
  package let after: String?
  /// The longest list wanted.
  package let limit: Int

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    after = try reader.string("after")
    limit = try reader.limit()
  }
}
