package import RuledCore

package struct SnapshotSettings: Sendable {
  /// The folder or bucket, which all nodes reach.
  var location: SnapshotLocation
  /// The interval between snapshots, in microseconds.
  var every: Int64

  package init(_ location: SnapshotLocation, every: Int64) {
    self.location = location
    self.every = every
  }

  static let kept = 3
  /// How long a turn lasts unless its node extends it, in milliseconds.
  static let turn = 60_000
  /// How long a node that ends goes on removing the files of an unfinished snapshot, in milliseconds.
  static let longestEnd = 1_000
}
