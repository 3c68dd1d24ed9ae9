import RuledStore

struct PostgresError: Error, Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    /// The client library can't be loaded.
    case library
    /// The database could lose acknowledged commits.
    case unsafe
    /// There is no connection; nothing was sent.
    case unreachable
    case refused(sqlstate: String)
    /// The connection broke, or the time was over, before the answer: the server may have committed, or may do so later.
    case noAnswer
  }

  let kind: Kind
  /// The failure, for the operator.
  let message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The error for callers above the database: the attempt, and why it failed.
  func storeError(_ attempt: String) -> StoreError {
    switch kind {
    case .library: StoreError(.unsupported, message)
    case .unsafe: StoreError(.unsafeDatabase, message)
    case .unreachable, .noAnswer: StoreError(.unreachable, attempt, underlying: message)
    case .refused(let sqlstate):
      StoreError(.refused, attempt, underlying: sqlstate.isEmpty ? message : "\(sqlstate): \(message)")
    }
  }
}
