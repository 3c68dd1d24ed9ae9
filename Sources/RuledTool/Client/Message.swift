package import RuledCore

/// A line that a daemon sent.
package enum Message: Sendable {
  /// The answer to the request with this number.
  case reply(id: Int64, Result<JSONValue, DaemonError>)
  /// A notification, such as `changed`.
  case notification(method: String, params: JSONValue)
}
