package import RuledStore

extension StoreError.Code {
  /// The database can't be reached, or does not answer.
  package static let unreachable = StoreError.Code(rawValue: "unreachable")
  static let fenced = StoreError.Code(rawValue: "fenced")
  /// The database could lose acknowledged commits.
  static let unsafeDatabase = StoreError.Code(rawValue: "unsafe_database")
  /// The node has played back other batches than the log contains.
  static let diverged = StoreError.Code(rawValue: "diverged")
  /// The log was cut: it no longer has the batch after the last one that the node played back.
  static let behind = StoreError.Code(rawValue: "behind")
  /// The process was asked to end.
  package static let interrupted = StoreError.Code(rawValue: "interrupted")
}
