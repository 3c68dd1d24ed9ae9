package import RuledCore

package struct ClusterSettings: Sendable {
  /// The URL of the database, as libpq takes it.
  var url: String
  /// How long a lease runs, in milliseconds.
  package var lease = 5_000
  /// How long a commit may take before its clients get `outcome_unknown`, in milliseconds.
  var commitTimeout = 20_000
  /// When a commit is acknowledged; not `interval`.
  package var durability = Durability.commit
  var waitsForStandbys: Bool { durability == .commit }
  /// The number of batches in a partition of a new cluster's log; old batches are dropped a partition at a time.
  var partitionSize: Int64 = 65_536

  /// The version of the daemon, shown to the other nodes.
  package var version = ""
  /// The formats of the tables that this version of the daemon works with.
  var schema = ClusterSchema.current

  package init(url: String) { self.url = url }
}
