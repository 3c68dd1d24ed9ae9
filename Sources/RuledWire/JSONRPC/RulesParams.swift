package import RuledCore

// What the methods take that concern the rules in force.

/// What `revision` and `rollback` take.
package struct RevisionParams: Sendable, Equatable {
  /// The revision, nil for the one that was in force before.
  package let revision: String?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    revision = reader.has("revision") ? try reader.required("revision") : nil
  }
}
