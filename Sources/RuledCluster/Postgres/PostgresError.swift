struct PostgresError: Error, Sendable, Equatable {
  /// What kind of failure it is.
  enum Kind: Sendable, Equatable {
    /// The client library can't be loaded.
    case library
    /// The database could lose what it acknowledges.
    case unsafe
    /// There is no connection; nothing was sent.
    case unreachable
    /// The server refused the statement.
    case refused(sqlstate: String)
    /// The connection broke, or the time was over, before the answer: the server may have committed, or may do so later.
    case noAnswer
  }

  /// What kind of failure it is.
  let kind: Kind
  /// What happened, for the operator.
  let message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
