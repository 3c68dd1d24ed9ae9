/// The end of a log and its owner, as the database has them.
package struct LogHead: Sendable, Equatable {
  /// The epoch, which rises with each change of owner.
  package let epoch: Int64
  /// The end of the log.
  package let position: LogPosition
  /// Who may write; nil before the first owner.
  package let owner: NodeIdentity?
  /// Whether the owner's lease is over, by the database's clock.
  package let isLeaseOver: Bool
  /// Up to which batch the standbys are known to have the log: its owner commits nothing on top of what they have not confirmed, and says in its
  /// lease how far that was.
  let confirmed: Int64
  /// Whether the owner has released its lease, or its process has made way for another one of its name.
  package let isLeaseReleased: Bool
}
