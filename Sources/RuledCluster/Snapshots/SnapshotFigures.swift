package import RuledStore

/// What a node knows of its cluster's snapshots.
package struct SnapshotFigures: Sendable {
  /// Why a snapshot that is due could not be written, or the log not be cut; nil if both succeeded.
  package var problem: StoreError?
  /// The age of the latest snapshot, in milliseconds; nil without one, or if the database was not asked yet.
  package var age: Int?
  /// For how long a snapshot has been due, in milliseconds; 0 while none is.
  package var dueTime: Int
}
