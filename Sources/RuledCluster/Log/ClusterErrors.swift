package import RuledStore

extension StoreError.Code {
  /// The database can't be reached, or does not answer.
  package static let unreachable = StoreError.Code(rawValue: "unreachable")
  /// Another node owns the log.
  package static let fenced = StoreError.Code(rawValue: "fenced")
  /// The database could lose what it acknowledges.
  package static let unsafeDatabase = StoreError.Code(rawValue: "unsafe_database")
  /// The log is not the one that the node has played back.
  package static let diverged = StoreError.Code(rawValue: "diverged")
  /// The log no longer has the batches that follow what the node has played back.
  package static let behind = StoreError.Code(rawValue: "behind")
  /// Somebody asked the process to end.
  package static let interrupted = StoreError.Code(rawValue: "interrupted")
}

extension PostgresError {
  /// The error for callers above the database: what was meant to happen, and why it did not.
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
