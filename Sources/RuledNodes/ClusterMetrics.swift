import RuledCluster
import RuledCore
import RuledServing

/// The metrics of a node of a cluster, the owner's and a follower's.
struct ClusterMetrics {
  let membership: ClusterMembership

  /// The metrics of a follower: it has no others than these and those of its process.
  ///
  /// `reachesOwner` is nil if the node has no links to the other nodes.
  static func text(
    _ membership: ClusterMembership, start: Timestamp, reachesOwner: Bool?, configurationIsRefused: Bool
  ) -> [UInt8] {
    let text = MetricsWriter()
    text.info("ruled_build_info", "The version of the daemon.", [[("version", Version.current)]])
    text.configuration(isRefused: configurationIsRefused)
    ClusterMetrics(membership: membership).write(to: text)
    if let reachesOwner {
      text.gauge(
        "ruled_cluster_owner_reachable", "Whether the node can carry its clients' connections to the owner of the log.",
        reachesOwner ? 1 : 0)
    }
    ProcessMetrics.write(start: start, log: membership.log, to: text)
    return text.text
  }

  /// Writes the node's figures and counts; sends no request.
  func write(to text: MetricsWriter) {
    let node = membership.node
    let (figures, counts, sequence) = (node.figures, node.counts.all, node.position.sequence)
    text.gauge(
      "ruled_cluster_role", "What the node does: it owns the log of commits, or follows it.",
      [
        ([("node", node.identity.name), ("role", "owner")], figures.isOwner ? 1 : 0),
        ([("node", node.identity.name), ("role", "follower")], figures.isOwner ? 0 : 1),
      ])
    text.gauge("ruled_cluster_epoch", "The epoch of the log's owner.", Double(figures.epoch))
    text.gauge(
      "ruled_cluster_sequence", "How many batches of the log the node has committed or played back.", Double(sequence))
    text.gauge(
      "ruled_cluster_behind", "How many batches the node lacks of those that it knows the log to have.",
      figures.isOwner ? 0 : Double(max(0, figures.end - sequence)))
    text.gauge(
      "ruled_cluster_lease_seconds", "How long the node's lease still runs; 0 when it is over.",
      Double(figures.leaseLeft) / 1000)
    text.gauge(
      "ruled_cluster_drained", "Whether the node is drained: it does not take the log over.", figures.isDrained ? 1 : 0)
    text.gauge(
      "ruled_cluster_up", "Whether the node can renew its lease and follow the log.",
      figures.problem == nil && figures.leaseProblem == nil ? 1 : 0)
    text.gauge(
      "ruled_cluster_can_take_over",
      "Whether the node follows and would take over: it is not drained, and can load the rules in force.",
      node.canTakeOver ? 1 : 0)
    text.durations(
      "ruled_cluster_commit_seconds",
      "How long batches took from the owner to the database, its standbys and back, including the time to find out what became of a batch.",
      [([], counts.commits)])
    text.counter("ruled_cluster_commits_refused_total", "Batches of which nothing was committed.", counts.refused)
    text.counter(
      "ruled_cluster_commits_doubtful_total", "Batches of which it is not known whether they were committed.",
      counts.doubtful)
    text.counter(
      "ruled_cluster_connections_total",
      "Connections to the database that were opened: the first ones, and each after one broke.",
      counts.connections)
    if let refused = membership.links?.refused {
      text.counter(
        "ruled_cluster_connections_refused_total",
        "Connections to cluster.listen that did not prove to be a node's.", refused)
    }
    if let snapshots = membership.snapshotFigures { write(snapshots, to: text) }
  }

  private func write(_ snapshots: SnapshotFigures, to text: MetricsWriter) {
    text.gauge(
      "ruled_cluster_snapshot_up", "Whether the node could write the last snapshot that it had to.",
      snapshots.problem == nil ? 1 : 0)
    if let age = snapshots.age {
      text.gauge("ruled_cluster_snapshot_age_seconds", "The age of the cluster's latest snapshot.", Double(age) / 1000)
    }
    text.gauge(
      "ruled_cluster_snapshot_due_seconds",
      "For how long a snapshot has been due: the latest is old enough, and something was committed since; 0 while none is.",
      Double(snapshots.dueTime) / 1000)
  }
}
