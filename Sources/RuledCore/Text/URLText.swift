/// The parts of a URL as rules see them (`url.parse`), each percent-decoded once.
///
/// The scheme is in lower case, and so is the host of the web's own schemes; a custom scheme's host keeps its case, as it
/// may well be an id. `+` stays `+`. An escape that is malformed, or whose byte makes no UTF-8, stays as it is.
package struct URLText: Sendable, Equatable {
  /// One parameter of the query.
  package struct Parameter: Sendable, Equatable {
    /// Its name, decoded.
    package var name: String
    /// Its value, decoded; empty when there is no `=`.
    package var value: String
  }

  /// The scheme without its colon, in lower case.
  package var scheme: String
  /// What stands before `@` in the authority, or nil.
  package var userInfo: String?
  /// The host, without the brackets of an IPv6 address; nil without `//`, and empty in `app:///path`.
  package var host: String?
  /// The port, or nil.
  package var port: Int?
  /// The path, empty when there is none.
  package var path: String
  /// The parameters in order, each name once: of repeated ones the first.
  package var query: [Parameter]
  /// What stands behind `#`, or nil.
  package var fragment: String?

  /// The value of the parameter of that name.
  package subscript(parameter name: String) -> String? { query.first { $0.name.isIdentical(to: name) }?.value }
}
