internal import RuledStore

/// A cluster as the database shows it: its nodes, its log, and how durable the log is.
package struct ClusterOverview: Sendable, Equatable {
  package enum Role: String, Sendable {
    case owner
    /// It plays the log back.
    case follower
    /// Its lease is over: its process has ended, is stopped, or can't reach the database.
    case gone
  }

  /// A present or former node of the cluster.
  package struct Node: Sendable, Equatable {
    package var identity: NodeIdentity
    package var role: Role
    package var version: String
    /// Whether it is drained: it must not own the log.
    package var isDrained: Bool
    /// How long its lease still lasts, in milliseconds; 0 when it is over.
    package var leaseLeft: Int64
    /// The number of batches that it had played back when it last renewed its lease.
    package var sequence: Int64
    /// The number of batches that it lacked at that time.
    package var behind: Int64
    /// Why its process could not go on; empty if it ended otherwise, or is alive.
    package var problem: String
  }

  package struct Standby: Sendable, Equatable {
    /// Its `application_name`; empty if the node may not see it.
    package var name: String
    package var address: String
    /// `streaming` while it follows.
    package var state: String
    /// `sync` or `quorum` if commits wait for it.
    package var sync: String
  }

  package struct Database: Sendable, Equatable {
    /// The address and port of its primary.
    package var primary = ""
    package var version = ""
    /// The size of the log's tables in bytes.
    package var bytes: Int64 = 0
    package var standbys: [Standby] = []
    package var synchronousCommit = ""
    package var synchronousStandbys = ""
    /// The failures that an acknowledged commit survives.
    package var promise = ""
    /// The data that it could lose although the configuration of this node does not allow it; nil for nothing.
    package var problem: String?
  }

  package var nodes: [Node] = []
  package var epoch: Int64 = 0
  /// The number of batches in the log.
  package var sequence: Int64 = 0
  package var database = Database()

  package var owner: Node? { nodes.first { $0.role == .owner } }
}

extension LogClient {
  static let attempt = "the state of the cluster can't be read"

  func overview() throws(StoreError) -> ClusterOverview {
    let head = try readHead()
    let end = head.position.sequence
    let database = try databaseOverview()
    let rows = try execute(
      """
      SELECT n.node, n.incarnation, n.address, n.version, n.drained, n.lease > clock_timestamp(), \
      greatest(0, extract(epoch FROM n.lease - clock_timestamp()) * 1000)::int8, n.sequence, n.behind, \
      l.incarnation IS NOT DISTINCT FROM n.incarnation, coalesce(to_jsonb(n) ->> 'problem', '') \
      FROM ruled.nodes n, ruled.logs l WHERE l.log = 0 ORDER BY n.node
      """, [], Self.attempt)
    let nodes = (0..<rows.count).map { row in
      let (isAlive, isOwner) = (rows.boolean(row, 5), rows.boolean(row, 9))
      return ClusterOverview.Node(
        identity: NodeIdentity(name: rows.text(row, 0), incarnation: rows.text(row, 1), address: rows.text(row, 2)),
        role: !isAlive ? .gone : isOwner ? .owner : .follower, version: rows.text(row, 3),
        isDrained: rows.boolean(row, 4), leaseLeft: rows.integer(row, 6),
        sequence: isAlive && isOwner ? end : rows.integer(row, 7),
        behind: !isAlive ? end - rows.integer(row, 7) : isOwner ? 0 : rows.integer(row, 8),
        problem: isAlive ? "" : rows.text(row, 10))
    }
    return ClusterOverview(nodes: nodes, epoch: head.epoch, sequence: end, database: database)
  }

  /// Sets whether a node is drained; false if there is none of that name.
  @discardableResult
  func mark(_ node: String, drained: Bool) throws(StoreError) -> Bool {
    try execute(
      "UPDATE ruled.nodes SET drained = $2::int8 <> 0 WHERE node = $1::text",
      [.text(node), .integer(drained ? 1 : 0)], Self.attempt
    ).written == 1
  }

  /// Stores why a node's process can't go on, unless one of its name is alive.
  func note(_ problem: String, of node: String) throws(StoreError) {
    _ = try connection()
    guard hasProblems else { return }
    try execute(
      "UPDATE ruled.nodes SET problem = $2::text WHERE node = $1::text AND problem <> $2::text AND lease < clock_timestamp()",
      [.text(node), .text(problem)], Self.attempt)
  }

  /// Removes an earlier process's report of its end.
  func removeProblem(of node: String) throws(StoreError) {
    guard hasProblems else { return }
    try execute(
      "UPDATE ruled.nodes SET problem = '' WHERE node = $1::text AND problem <> ''", [.text(node)], Self.attempt)
  }

  private var hasProblems: Bool { (cluster?.format ?? 0) >= ClusterSchema.firstWithProblems }

  private func databaseOverview() throws(StoreError) -> ClusterOverview.Database {
    let server = try execute(
      """
      SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'its Unix socket'), \
      current_setting('server_version'), (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::int8 FROM pg_inherits \
      WHERE inhparent = 'ruled.commits'::regclass)
      """, [], Self.attempt)
    let (primary, version, bytes) = (server.text(0, 0), server.text(0, 1), server.integer(0, 2))
    let rows = try execute(
      """
      SELECT coalesce(application_name, ''), coalesce(host(client_addr), ''), coalesce(state, ''), coalesce(sync_state, '') \
      FROM pg_stat_replication ORDER BY 1, 2
      """, [], Self.attempt)
    let standbys = (0..<rows.count).map { row in
      ClusterOverview.Standby(
        name: rows.text(row, 0), address: rows.text(row, 1), state: rows.text(row, 2), sync: rows.text(row, 3))
    }
    let review = try durability()
    return ClusterOverview.Database(
      primary: primary, version: version, bytes: bytes, standbys: standbys,
      synchronousCommit: review.synchronousCommit, synchronousStandbys: review.standbys,
      promise: review.promise(with: settings.durability), problem: problem(of: review))
  }
}
