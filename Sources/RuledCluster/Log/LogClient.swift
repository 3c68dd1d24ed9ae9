import RuledCore
import RuledStore

/// Reads and writes a log of commits over a connection that is reopened after a failure; one thread at a time uses it.
///
/// Each write is one statement, fenced by the epoch in the log's row. After an error of a write its outcome is unknown until `raiseEpoch`
/// resolves it.
final class LogClient {
  /// The number of the log; there is one so far, with all subjects.
  static let log: Int64 = 0
  /// How long connecting may take for each host, in seconds.
  static let connectionSeconds = 3
  /// How long a statement waits for a row that another transaction has locked, in milliseconds.
  private static let lockTimeout = 2_000
  /// Sets the times of a session; a database's limits for people would end commits that wait for standbys, and idle connections.
  private static let times = """
    SET lock_timeout = \(lockTimeout); \
    DO $do$ BEGIN PERFORM set_config(name, '0', false) FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout', \
    'idle_session_timeout', 'idle_in_transaction_session_timeout') AND setting <> '0'; END $do$
    """

  let settings: ClusterSettings
  private let counts: ClusterCounts?
  private var open: PostgresConnection?
  /// The cluster of the database; nil before the first connection.
  private(set) var cluster: ClusterSchema.Cluster?
  /// The first sequence for which there may be no partition of the table.
  private var partitionsEnd: Int64 = 0

  /// A client without a connection; each one that it opens is counted in `counts`.
  init(_ settings: ClusterSettings, counts: ClusterCounts? = nil) {
    self.settings = settings
    self.counts = counts
  }

  func noteFormat(_ format: Int64) { cluster?.format = format }

  // MARK: Connecting

  /// The connection, opened if there is none.
  ///
  /// Each new connection reviews the database, so that a failover to a server with other settings is noticed.
  func connection() throws(StoreError) -> PostgresConnection {
    if let open, open.isOpen { return open }
    open = nil
    do throws(PostgresError) {
      let made = try PostgresConnection(settings.url, seconds: Self.connectionSeconds)
      try made.run(script: Self.times, milliseconds: settings.commitTimeout)
      let review = try DurabilityReview.read(made, milliseconds: settings.commitTimeout)
      if let problem = review.standbyProblem { throw PostgresError(.unreachable, problem) }
      if let problem = problem(of: review) { throw PostgresError(.unsafe, problem) }
      let found = try settings.schema.prepare(made, partitionSize: settings.partitionSize)
      if let cluster, cluster.id != found.id {
        throw PostgresError(
          .refused(sqlstate: ""), "the database now has another cluster: \(found.id) instead of \(cluster.id)")
      }
      cluster = found
      open = made
      counts?.countConnection()
      return made
    } catch { throw error.storeError("there is no connection to the log of commits") }
  }

  func disconnect() { open = nil }

  /// Has the server drop a statement without an answer in time; it would keep its connection as long as no standby is there.
  func cancel() { open?.cancel() }

  /// Executes a statement; an error begins with `attempt`.
  @discardableResult
  func execute(
    _ statement: PostgresStatement, _ values: [PostgresValue], _ attempt: String, milliseconds: Int? = nil
  ) throws(StoreError) -> PostgresRows {
    try self.attempt(attempt) { (connection) throws(PostgresError) in
      try connection.execute(statement, values, milliseconds: milliseconds ?? settings.commitTimeout)
    }
  }

  /// Calls `body` with the connection; an error begins with `what`.
  func attempt<Result>(
    _ what: String, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(StoreError) -> Result {
    let connection = try connection()
    do throws(PostgresError) { return try body(connection) } catch { throw error.storeError(what) }
  }

  /// Executes commands without values; an error begins with `attempt`.
  func run(_ script: String, _ attempt: String, milliseconds: Int? = nil) throws(StoreError) {
    try self.attempt(attempt) { (connection) throws(PostgresError) in
      try connection.run(script: script, milliseconds: milliseconds ?? settings.commitTimeout)
    }
  }

  /// Throws if the server has warned, with its last answer, that it did not wait for its standbys.
  func checkStandbys(have what: String) throws(StoreError) {
    guard let warning = open?.warning else { return }
    throw StoreError(.unreachable, "the database has not confirmed that its standbys have \(what)", underlying: warning)
  }

  /// Executes a command, such as the end of a transaction, and checks that the standbys have its commit.
  func run(_ command: String) throws(StoreError) {
    try run(command, "the database did not execute \(command)")
    try checkStandbys(have: "it")
  }

  // MARK: Reading

  private static let headStatement = PostgresStatement(
    kept: "head",
    """
    SELECT l.epoch, l.sequence, l.digest, l.owner, l.incarnation, n.address, n.lease IS NULL OR n.lease < clock_timestamp(), \
    n.listen, n.lease IS NULL OR n.lease = to_timestamp(0), least(l.sequence, greatest(l.sequence - 1, n.sequence)) \
    FROM ruled.logs l LEFT JOIN ruled.nodes n ON n.node = l.owner AND n.incarnation = l.incarnation WHERE l.log = $1::int8
    """)

  func readHead() throws(StoreError) -> LogHead {
    let rows = try execute(Self.headStatement, [.integer(Self.log)], "the end of the log can't be read")
    guard rows.count == 1 else { throw Self.noLog }
    let owner = rows.text(0, 3)
    return LogHead(
      epoch: rows.integer(0, 0), position: rows.position(0, 1),
      owner: owner.isEmpty
        ? nil
        : NodeIdentity(name: owner, incarnation: rows.text(0, 4), address: rows.text(0, 5), listen: rows.text(0, 7)),
      isLeaseOver: rows.boolean(0, 6), confirmed: rows.integer(0, settings.waitsForStandbys ? 9 : 1),
      isLeaseReleased: rows.boolean(0, 8))
  }

  /// The error for a database whose tables have no row of the log.
  private static let noLog = StoreError(.corrupt, "the database has no log of commits: restore it from a backup")

  private static let batchesStatement = PostgresStatement(
    kept: "read",
    """
    SELECT sequence, epoch, previous, digest, batch FROM ruled.commits \
    WHERE log = $1::int8 AND sequence > $2::int8 AND sequence <= $3::int8 ORDER BY sequence LIMIT $4::int8
    """)

  /// Calls `body` with each batch after `position`, up to the batch `last` and at most `limit`, and the position after it; checks that each
  /// follows the one before.
  ///
  /// Returns the number of batches. The bytes are valid only during the call of `body`.
  func read(
    after position: LogPosition, through last: Int64 = .max, limit: Int,
    _ body: (ByteView, LogPosition) throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    let rows = try execute(
      Self.batchesStatement, [.integer(Self.log), .integer(position.sequence), .integer(last), .integer(Int64(limit))],
      "the log can't be read")
    var current = position
    for row in 0..<rows.count {
      guard rows.integer(row, 0) == current.sequence + 1 else {
        throw StoreError(
          .behind,
          "the log was cut: it goes on at \(rows.integer(row, 0)), this node has what comes before \(current.sequence + 1); start it again, so "
            + "that it starts from a snapshot")
      }
      let batch = rows.bytes(row, 4) ?? .empty
      let next = current.following(batch, epoch: rows.integer(row, 1))
      guard
        rows.bytes(row, 2)?.elementsEqual(current.digest) == true,
        rows.bytes(row, 3)?.elementsEqual(next.digest) == true
      else {
        throw StoreError(
          .diverged,
          "batch \(next.sequence) of the log does not follow what this node has played back: the database has lost commits, was "
            + "restored, or was changed by hand; start the node again, and it takes what the log has")
      }
      try body(batch, next)
      current = next
    }
    return rows.count
  }

  /// The digest of a batch; nil if the log does not have it, or no longer.
  func digest(of sequence: Int64) throws(StoreError) -> [UInt8]? {
    let rows = try execute(
      "SELECT digest FROM ruled.commits WHERE log = $1::int8 AND sequence = $2::int8",
      [.integer(Self.log), .integer(sequence)], "the log can't be read")
    return rows.count == 1 ? rows.bytes(0, 0).map { Array($0) } : nil
  }

  /// Whether the log has the batch after a position, or ends there: false if that batch was cut.
  func continues(after position: LogPosition) throws(StoreError) -> Bool {
    if try readHead().position.sequence <= position.sequence { return true }
    return try digest(of: position.sequence + 1) != nil
  }

  /// Whether the log ends before a position, or has other batches before it; false if these were cut.
  func contradicts(_ position: LogPosition) throws(StoreError) -> Bool {
    let end = try readHead().position
    guard end.sequence > position.sequence else { return end != position }
    guard position != .start, let digest = try digest(of: position.sequence) else { return false }
    return digest != position.digest
  }

  // MARK: Partitions

  /// Creates the partition of the table for a sequence, and the next one.
  func makePartitions(for sequence: Int64) throws(StoreError) {
    guard sequence >= partitionsEnd else { return }
    let size = try partitionSize()
    let first = sequence / size
    var script = ""
    for partition in first...(first + 1) {
      script +=
        "CREATE TABLE IF NOT EXISTS ruled.commits_\(partition) PARTITION OF ruled.commits FOR VALUES FROM (\(partition * size)) "
      script += "TO (\((partition + 1) * size));"
    }
    try run(script, "the log can't get another partition")
    partitionsEnd = (first + 1) * size
  }

  /// Drops the partitions of the log whose batches all come before `sequence`; returns their number.
  ///
  /// Each drop delays commits by 0.2 s at most. It fails if it would have to wait longer for a reader.
  func dropPartitions(before sequence: Int64) throws(StoreError) -> Int {
    let size = try partitionSize()
    let rows = try execute(
      """
      SELECT substr(c.relname, 9)::int8 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
      WHERE i.inhparent = 'ruled.commits'::regclass ORDER BY 1
      """, [], "the partitions of the log can't be listed")
    let old = (0..<rows.count).map { rows.integer($0, 0) }.filter { ($0 + 1) * size <= sequence }
    for partition in old {
      // The drop holds a lock that commits need, so it does not wait for the standbys. A failover that undoes the drop does no harm.
      let script = """
        DO $do$ BEGIN PERFORM set_config('lock_timeout', '200', true), set_config('synchronous_commit', 'local', true); \
        DROP TABLE IF EXISTS ruled.commits_\(partition); END $do$
        """
      try run(script, "old partitions of the log can't be dropped", milliseconds: Self.dropMilliseconds)
    }
    return old.count
  }

  /// How long dropping a partition may take, in milliseconds.
  private static let dropMilliseconds = 20_000

  private func partitionSize() throws(StoreError) -> Int64 {
    if cluster == nil { _ = try connection() }
    guard let cluster else { throw Self.noLog }
    return cluster.partitionSize
  }

  // MARK: Leases

  private static let renewStatement = PostgresStatement(
    kept: "renew",
    """
    INSERT INTO ruled.nodes AS n (node, incarnation, address, lease, sequence, version, behind, listen) \
    SELECT $1::text, $2::text, $3::text, clock_timestamp() + $4::int8 * interval '1 millisecond', $5::int8, $6::text, \
    greatest(0, l.sequence - $5::int8), $8::text FROM (SELECT set_config('synchronous_commit', 'local', true)) AS s, ruled.logs l \
    WHERE l.log = $7::int8 \
    ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation, address = excluded.address, lease = excluded.lease, \
    sequence = excluded.sequence, version = excluded.version, behind = excluded.behind, listen = excluded.listen \
    WHERE n.incarnation = excluded.incarnation OR n.lease < clock_timestamp() RETURNING drained
    """)

  /// Renews the lease of `node`, which has played back up to `sequence`.
  ///
  /// Returns whether the node is drained; nil while another process of its name has a lease. It waits for no standby. Nothing is lost with
  /// a lease: it only says when another node may try to take over.
  func renewLease(of node: NodeIdentity, at sequence: Int64) throws(StoreError) -> Bool? {
    let rows = try execute(
      Self.renewStatement,
      [
        .text(node.name), .text(node.incarnation), .text(node.address), .integer(Int64(settings.lease)),
        .integer(sequence), .text(settings.version), .integer(Self.log), .text(node.listen),
      ], "the lease can't be renewed", milliseconds: settings.lease)
    return rows.count == 1 ? rows.boolean(0, 0) : nil
  }

  /// Renews the lease of the owner `node`, and waits until the standbys have that; false if it does not own the log any more.
  func confirmLease(of node: NodeIdentity, at sequence: Int64) throws(StoreError) -> Bool {
    guard try renewLease(of: node, at: sequence) != nil else { return false }
    do throws(StoreError) {
      let rows = try execute(
        "SELECT pg_logical_emit_message(true, 'ruled', '') FROM ruled.logs WHERE log = $1::int8 AND incarnation = $2::text",
        [.integer(Self.log), .text(node.incarnation)], "the standbys don't confirm the lease")
      try checkStandbys(have: "the lease")
      return rows.count == 1
    } catch {
      cancel()
      throw error
    }
  }

  /// Ends the lease of `node`, so that the others need not wait until it expires.
  func releaseLease(of node: NodeIdentity) throws(StoreError) {
    try execute(
      "UPDATE ruled.nodes SET lease = to_timestamp(0) WHERE node = $1::text AND incarnation = $2::text",
      [.text(node.name), .text(node.incarnation)], "the lease can't be given back", milliseconds: settings.lease)
  }

  // MARK: Durability

  func durability() throws(StoreError) -> DurabilityReview {
    try attempt("the settings of the database can't be read") { (connection) throws(PostgresError) in
      try DurabilityReview.read(connection, milliseconds: settings.lease)
    }
  }

  /// The data that a database with these settings could lose although the configuration does not allow it.
  func problem(of review: DurabilityReview) -> String? { review.problem(with: settings.durability) }
}

extension PostgresRows {
  /// The position in two columns of a row: sequence and digest.
  func position(_ row: Int, _ column: Int) -> LogPosition {
    LogPosition(sequence: integer(row, column), digest: bytes(row, column + 1).map { Array($0) } ?? [])
  }
}
