package import RuledStore

/// What the database says of a cluster: its nodes, its log, and how safe the log is.
package struct ClusterOverview: Sendable, Equatable {
  /// What a node does.
  package enum Role: String, Sendable {
    /// It owns the log and serves.
    case owner
    /// It plays the log back.
    case follower
    /// Its lease is over: it has ended, stands still or is cut off.
    case gone
  }

  /// A node that has been there.
  package struct Node: Sendable, Equatable {
    /// Its name, process and address.
    package var identity: NodeIdentity
    /// What it does.
    package var role: Role
    /// The version of its daemon.
    package var version: String
    /// Whether it is not to own the log.
    package var isDrained: Bool
    /// How many milliseconds are left of its lease; 0 when that is over.
    package var leaseLeft: Int64
    /// How many batches it had played back when it renewed its lease.
    package var sequence: Int64
    /// How many batches it lacked at that time.
    package var behind: Int64
  }

  /// A standby of the database.
  package struct Standby: Sendable, Equatable {
    /// Its `application_name`; empty if the node may not see it.
    package var name: String
    /// Where it is.
    package var address: String
    /// `streaming` while it follows.
    package var state: String
    /// `sync` or `quorum` if commits wait for it.
    package var sync: String
  }

  /// The nodes, by name.
  package var nodes: [Node] = []
  /// The epoch of the log's owner.
  package var epoch: Int64 = 0
  /// How many batches the log has.
  package var sequence: Int64 = 0
  /// What its tables take, in bytes.
  package var bytes: Int64 = 0
  /// Where the database's primary is: address and port.
  package var primary = ""
  /// The version of PostgreSQL.
  package var version = ""
  /// The standbys of the primary.
  package var standbys: [Standby] = []
  /// How `synchronous_commit` stands.
  package var synchronousCommit = ""
  /// How `synchronous_standby_names` stands.
  package var synchronousStandbys = ""
  /// What an acknowledged commit survives.
  package var promise = ""
  /// What the database could lose against the configuration of the node that asks; nil for nothing.
  package var problem: String?

  /// The owner; nil while there is none.
  package var owner: Node? { nodes.first { $0.role == .owner } }
}

/// Why a node is not drained.
package enum DrainRefusal: Error, Sendable, Equatable {
  /// There is no node of that name.
  case unknown
  /// No other node could take over: what is missing.
  case alone(String)
}

/// Reads and changes what the nodes of a cluster know of each other, over a connection of its own; each call waits for the database.
package struct ClusterDesk: Sendable {
  /// How many batches another node may lack that takes over: it plays them back within a fraction of a second.
  package static let closeness: Int64 = 1_000

  private let settings: ClusterSettings

  /// A desk at the database of these settings.
  package init(_ settings: ClusterSettings) {
    var settings = settings
    settings.patience = min(settings.patience, 5_000)
    self.settings = settings
  }

  /// What the database says now.
  package func overview() throws(StoreError) -> ClusterOverview { try LogClient(settings).overview() }

  /// Has a node give the log up, and not take it until `undrain`; refuses if no other node follows closely, unless `force` is set.
  package func drain(_ node: String, force: Bool) throws(StoreError) -> Result<ClusterOverview, DrainRefusal> {
    let client = LogClient(settings)
    let before = try client.overview()
    guard let target = before.nodes.first(where: { $0.identity.name == node }) else { return .failure(.unknown) }
    if !force, let reason = Self.obstacle(to: target, in: before) { return .failure(.alone(reason)) }
    try client.mark(node, drained: true)
    return .success(try client.overview())
  }

  /// Lets a node own the log again; gives nil if there is no node of that name.
  package func undrain(_ node: String) throws(StoreError) -> ClusterOverview? {
    let client = LogClient(settings)
    guard try client.mark(node, drained: false) else { return nil }
    return try client.overview()
  }

  /// Why nobody could take over after `target`; nil if somebody can.
  private static func obstacle(to target: ClusterOverview.Node, in cluster: ClusterOverview) -> String? {
    let others = cluster.nodes.filter { $0.identity.name != target.identity.name && $0.role != .gone }
    if others.isEmpty { return "no other node is there" }
    let able = others.filter { !$0.isDrained }
    if able.isEmpty { return "all other nodes are drained" }
    guard let nearest = able.map({ $0.role == .owner ? 0 : $0.behind }).min(), nearest > closeness else { return nil }
    return "the other nodes are \(nearest) batches and more behind"
  }
}

extension LogClient {
  private static let nodesStatement = PostgresStatement(
    """
    SELECT n.node, n.incarnation, n.address, n.version, n.drained, n.lease > clock_timestamp(), \
    greatest(0, extract(epoch FROM n.lease - clock_timestamp()) * 1000)::int8, n.sequence, n.behind, \
    l.incarnation IS NOT DISTINCT FROM n.incarnation, l.sequence \
    FROM ruled.nodes n, ruled.logs l WHERE l.log = 0 ORDER BY n.node
    """)
  private static let serverStatement = PostgresStatement(
    """
    SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'its Unix socket'), \
    current_setting('server_version'), (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::int8 FROM pg_inherits \
    WHERE inhparent = 'ruled.commits'::regclass)
    """)
  private static let standbysStatement = PostgresStatement(
    """
    SELECT coalesce(application_name, ''), coalesce(host(client_addr), ''), coalesce(state, ''), coalesce(sync_state, '') \
    FROM pg_stat_replication ORDER BY 1, 2
    """)

  /// What the database says of the cluster.
  func overview() throws(StoreError) -> ClusterOverview {
    var found = ClusterOverview()
    let head = try look()
    found.epoch = head.epoch
    found.sequence = head.position.sequence
    let rows = try ask(Self.nodesStatement)
    for row in 0..<rows.count {
      let (isAlive, isOwner) = (rows.boolean(row, 5), rows.boolean(row, 9))
      found.nodes.append(
        .init(
          identity: NodeIdentity(name: rows.text(row, 0), incarnation: rows.text(row, 1), address: rows.text(row, 2)),
          role: !isAlive ? .gone : isOwner ? .owner : .follower, version: rows.text(row, 3),
          isDrained: rows.boolean(row, 4), leaseLeft: rows.integer(row, 6),
          sequence: isAlive && isOwner ? rows.integer(row, 10) : rows.integer(row, 7),
          behind: !isAlive ? rows.integer(row, 10) - rows.integer(row, 7) : isOwner ? 0 : rows.integer(row, 8)))
    }
    let server = try ask(Self.serverStatement)
    found.primary = server.text(0, 0)
    found.version = server.text(0, 1)
    found.bytes = server.integer(0, 2)
    let standbys = try ask(Self.standbysStatement)
    for row in 0..<standbys.count {
      found.standbys.append(
        .init(
          name: standbys.text(row, 0), address: standbys.text(row, 1), state: standbys.text(row, 2),
          sync: standbys.text(row, 3)))
    }
    let review = try durability()
    found.synchronousCommit = review.synchronousCommit
    found.synchronousStandbys = review.standbys
    found.promise = review.promise
    found.problem = problem(of: review)
    return found
  }

  private static let markStatement = PostgresStatement(
    "UPDATE ruled.nodes SET drained = $2::int8 <> 0 WHERE node = $1::text")

  /// Sets whether a node is drained; false if there is none of that name.
  @discardableResult
  func mark(_ node: String, drained: Bool) throws(StoreError) -> Bool {
    try ask(Self.markStatement, [.text(node), .integer(drained ? 1 : 0)]).written == 1
  }
}
