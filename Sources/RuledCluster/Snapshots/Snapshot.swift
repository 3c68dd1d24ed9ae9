/// A verified snapshot, as the database lists it.
struct Snapshot: Sendable, Equatable {
  var name: String
  /// The position up to which its store has played the log back.
  var position: LogPosition
  var bytes: Int
  var node: String
  var format: Int
}

/// The database's figures by which a snapshot is due or not.
struct SnapshotNeed: Sendable, Equatable {
  /// The end of the log.
  let end: Int64
  /// The sequence of the latest snapshot; -1 without one.
  let last: Int64
  /// The age of the latest snapshot by the database's clock, in microseconds; nil without one.
  let age: Int64?
  /// The number of other live nodes.
  let others: Int64
}
