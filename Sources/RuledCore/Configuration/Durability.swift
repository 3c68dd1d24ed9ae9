/// When a reply may leave.
package enum Durability: String, Sendable, CaseIterable {
  /// After the commit is on disk.
  case commit
  /// After the commit is applied; the disk follows each `Limits.syncInterval`.
  case interval
}
