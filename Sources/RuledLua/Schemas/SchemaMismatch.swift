package import RuledCore

/// Where data is not as declared, and what is wrong there.
package struct SchemaMismatch: Error, Sendable {
  /// The place, such as `data.items[3].price`.
  var path: String
  /// What is wrong, such as `must be an integer, not a string`.
  let detail: String

  /// The error with which a request is refused.
  package var requestError: RequestError { .invalidParams(path: "params.\(path)", detail) }
}
