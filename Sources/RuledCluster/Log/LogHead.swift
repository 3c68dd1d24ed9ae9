/// The end of a log and its owner, as the database has them.
struct LogHead: Sendable, Equatable {
  /// The epoch, which rises with each change of owner.
  let epoch: Int64
  /// The end of the log.
  let position: LogPosition
  /// Who may write; nil before the first owner.
  let owner: NodeIdentity?
  /// Whether the owner's lease is over, by the database's clock.
  let isLeaseOver: Bool
  /// Up to which batch the standbys are known to have the log: its owner commits nothing on top of what they have not confirmed, and says in its
  /// lease how far that was.
  let confirmed: Int64
  /// Whether the owner has released its lease, or its process has made way for another one of its name.
  let isLeaseReleased: Bool
}
