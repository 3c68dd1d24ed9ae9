import Glibc
import RuledCore
import RuledStore

/// How a node uses the database of its cluster.
package struct ClusterSettings: Sendable {
  /// The URL of the database, as libpq takes it.
  package var url: String
  /// How long a lease runs, in milliseconds.
  package var lease = 5_000
  /// How long a commit may take before its clients get `outcome_unknown`, in milliseconds.
  package var commitTimeout = 20_000
  /// Whether an acknowledged commit may be lost with the primary's disk.
  package var allowsPrimary = false
  /// The number of batches in a partition of a new cluster's log; old batches are dropped a partition at a time.
  package var partitionSize: Int64 = 65_536

  /// The version of the daemon, shown to the other nodes.
  package var version = ""
  /// The formats of the tables that this version of the daemon works with.
  var schema = ClusterSchema.current

  /// The defaults for a database.
  package init(url: String) { self.url = url }
}

/// Reads and writes a log of commits over one connection, which it reopens after a failure; one thread at a time uses it.
///
/// Each write is one statement, fenced by the epoch. If an answer does not come, the outcome is unknown until `raiseEpoch` finds it out.
final class LogClient {
  /// The number of the log; there is one so far, with all subjects.
  static let log: Int64 = 0
  /// How long connecting may take for each host, in seconds.
  private static let connectionSeconds = 3
  /// How long a statement waits for a row that another transaction has locked, in milliseconds.
  private static let lockTimeout = 2_000

  let settings: ClusterSettings
  private var open: PostgresConnection?
  /// The cluster of the database; nil before the first connection.
  var cluster: ClusterSchema.Cluster?
  /// The first sequence for which there may be no partition of the table.
  private var partitionsEnd: Int64 = 0

  private let counts: ClusterCounts?

  /// A client without a connection, whose connections are counted in `counts`.
  init(_ settings: ClusterSettings, counts: ClusterCounts? = nil) {
    self.settings = settings
    self.counts = counts
  }

  // MARK: Connecting

  /// The connection, opened if there is none.
  ///
  /// Each new connection reviews the database, so that a failover to a server with other settings is noticed.
  func connection() throws(StoreError) -> PostgresConnection {
    if let open, open.isOpen { return open }
    open = nil
    do throws(PostgresError) {
      let made = try PostgresConnection(settings.url, seconds: Self.connectionSeconds)
      try made.run(script: "SET lock_timeout = \(Self.lockTimeout)", milliseconds: settings.commitTimeout)
      let review = try DurabilityReview.read(made, milliseconds: settings.commitTimeout)
      if let problem = review.problem(allowsPrimary: settings.allowsPrimary) { throw PostgresError(.unsafe, problem) }
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

  /// Closes the connection.
  func disconnect() { open = nil }

  /// Executes a statement on the connection; an error begins with what was attempted.
  func execute(
    _ statement: PostgresStatement, _ values: [PostgresValue], _ attempt: String, milliseconds: Int? = nil
  ) throws(StoreError) -> PostgresRows {
    let connection = try connection()
    do throws(PostgresError) {
      return try connection.execute(statement, values, milliseconds: milliseconds ?? settings.commitTimeout)
    } catch { throw error.storeError(attempt) }
  }

  /// Executes a command without values, such as the end of a transaction, and checks that the standbys have its commit.
  func run(_ command: String) throws(StoreError) {
    let connection = try connection()
    do throws(PostgresError) { try connection.run(script: command, milliseconds: settings.commitTimeout) } catch {
      throw error.storeError("the database did not execute \(command)")
    }
    try checkStandbys(have: "it")
  }

  /// Throws if the server has warned, with its last answer, that it did not wait for its standbys.
  private func checkStandbys(have what: String) throws(StoreError) {
    guard let warning = open?.warning else { return }
    throw StoreError(
      .unreachable, "the database has not confirmed that its standbys have \(what)", underlying: warning)
  }

  // MARK: Reading

  private static let headStatement = PostgresStatement(
    kept: "head",
    """
    SELECT l.epoch, l.sequence, l.digest, l.owner, l.incarnation, n.address, n.lease IS NULL OR n.lease < clock_timestamp(), \
    n.listen, n.lease IS NULL OR n.lease = to_timestamp(0) \
    FROM ruled.logs l LEFT JOIN ruled.nodes n ON n.node = l.owner AND n.incarnation = l.incarnation WHERE l.log = $1::int8
    """)

  /// Reads the end of the log, and who owns it.
  func readHead() throws(StoreError) -> LogHead {
    let rows = try execute(Self.headStatement, [.integer(Self.log)], "the end of the log can't be read")
    guard rows.count == 1 else {
      throw StoreError(.corrupt, "the database has no log of commits: restore it from a backup")
    }
    let owner = rows.text(0, 3)
    return LogHead(
      epoch: rows.integer(0, 0), position: Self.position(rows, 1),
      owner: owner.isEmpty
        ? nil
        : NodeIdentity(name: owner, incarnation: rows.text(0, 4), address: rows.text(0, 5), listen: rows.text(0, 7)),
      isLeaseOver: rows.boolean(0, 6), isLeaseReleased: rows.boolean(0, 8))
  }

  private static func position(_ rows: PostgresRows, _ column: Int) -> LogPosition { position(rows, 0, column) }

  /// The position in two columns of a row.
  static func position(_ rows: PostgresRows, _ row: Int, _ column: Int) -> LogPosition {
    LogPosition(sequence: rows.integer(row, column), digest: rows.bytes(row, column + 1).map { Array($0) } ?? [])
  }

  private static let readStatement = PostgresStatement(
    kept: "read",
    """
    SELECT sequence, epoch, previous, digest, batch FROM ruled.commits WHERE log = $1::int8 AND sequence > $2::int8 \
    ORDER BY sequence LIMIT $3::int8
    """)

  /// Calls `body` with each batch after `position`, at most `limit`, and the position after it; checks that each follows the one before.
  ///
  /// Returns how many there were. The bytes are valid only during the call of `body`.
  func read(
    after position: LogPosition, limit: Int, _ body: (ByteView, LogPosition) throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    let rows = try execute(
      Self.readStatement, [.integer(Self.log), .integer(position.sequence), .integer(Int64(limit))],
      "the log can't be read")
    var last = position
    for row in 0..<rows.count {
      let sequence = rows.integer(row, 0)
      guard sequence == last.sequence + 1 else {
        throw StoreError(
          .behind,
          "the log was cut: it goes on at \(sequence), this node has what comes before \(last.sequence + 1); start it again, so that it "
            + "starts from a snapshot")
      }
      let batch = rows.bytes(row, 4) ?? .empty
      let next = last.following(batch, epoch: rows.integer(row, 1))
      guard rows.bytes(row, 2)?.elementsEqual(last.digest) == true,
        rows.bytes(row, 3)?.elementsEqual(next.digest) == true
      else {
        throw StoreError(
          .diverged,
          "batch \(sequence) of the log does not follow what this node has played back: the database has lost commits, was "
            + "restored, or was changed by hand; to take what it has for the truth, remove this node's store")
      }
      try body(batch, next)
      last = next
    }
    return rows.count
  }

  private static let digestStatement = PostgresStatement(
    "SELECT digest FROM ruled.commits WHERE log = $1::int8 AND sequence = $2::int8")

  /// The digest of a batch; nil if the log does not have it, or no longer.
  func digest(of sequence: Int64) throws(StoreError) -> [UInt8]? {
    let rows = try execute(Self.digestStatement, [.integer(Self.log), .integer(sequence)], "the log can't be read")
    return rows.count == 1 ? rows.bytes(0, 0).map { Array($0) } : nil
  }

  // MARK: Owning

  private static let takeOverStatement = PostgresStatement(
    """
    UPDATE ruled.logs SET epoch = epoch + 1, owner = $3::text, incarnation = $4::text \
    WHERE log = $1::int8 AND epoch = $2::int8 AND NOT EXISTS (SELECT 1 FROM ruled.nodes WHERE node = $3::text AND drained) \
    RETURNING epoch, sequence, digest
    """)

  /// Makes `node` the owner unless another node became it since `head` was read: then the result is nil.
  ///
  /// A drained node does not become the owner.
  func takeOver(for node: NodeIdentity, from head: LogHead) throws(StoreError) -> Ownership? {
    do throws(StoreError) {
      return try ownership(
        Self.takeOverStatement, [.integer(Self.log), .integer(head.epoch), .text(node.name), .text(node.incarnation)])
    } catch {
      // A node that was stopped in the middle of a statement holds the row. Its lease is over, so its transaction may be ended.
      if error.underlying.hasPrefix(Self.lockNotAvailable) { try endStuckWriters() }
      throw error
    }
  }

  static let lockNotAvailable = "55P03"
  private static let endStatement = PostgresStatement(
    """
    SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.relation = 'ruled.logs'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted AND a.wait_event = 'ClientRead'
    """)

  /// Ends the transactions that hold the row of the log while they wait for more input from their node.
  private func endStuckWriters() throws(StoreError) {
    _ = try execute(Self.endStatement, [], "the transaction of a node that stopped can't be ended")
  }

  private static let raiseStatement = PostgresStatement(
    """
    UPDATE ruled.logs SET epoch = epoch + 1 WHERE log = $1::int8 AND owner = $2::text AND incarnation = $3::text \
    RETURNING epoch, sequence, digest
    """)

  /// Raises the epoch of the owner `node`, and returns it with the end of the log; nil if another node owns the log by now.
  ///
  /// After a missing answer this settles the outcome: what the node sent earlier has the old epoch and can't take effect any more. What had
  /// taken effect is as durable as this statement, for which the standbys have answered.
  func raiseEpoch(for node: NodeIdentity) throws(StoreError) -> Ownership? {
    try ownership(Self.raiseStatement, [.integer(Self.log), .text(node.name), .text(node.incarnation)])
  }

  private func ownership(_ statement: PostgresStatement, _ values: [PostgresValue]) throws(StoreError) -> Ownership? {
    let rows = try execute(statement, values, "the ownership of the log is not known")
    try checkStandbys(have: "the new epoch")
    guard rows.count == 1 else { return nil }
    return Ownership(epoch: rows.integer(0, 0), end: Self.position(rows, 1))
  }

  // MARK: Appending

  private static let appendStatement = PostgresStatement(
    kept: "append",
    """
    WITH held AS (UPDATE ruled.logs SET sequence = sequence + 1, digest = $5::bytea \
    WHERE log = $1::int8 AND epoch = $2::int8 AND sequence = $3::int8 AND digest = $4::bytea RETURNING sequence) \
    INSERT INTO ruled.commits (log, sequence, epoch, previous, digest, batch) \
    SELECT $1::int8, sequence, $2::int8, $4::bytea, $5::bytea, $6::bytea FROM held
    """)

  /// Appends a batch at the end that `ownership` states, in one statement; false if another node owns the log.
  ///
  /// After an error it is unknown what the database did or will do, until `raiseEpoch` finds it out.
  func append(_ batch: ByteView, from ownership: Ownership, to next: LogPosition, milliseconds: Int) throws(StoreError)
    -> Bool
  {
    try makePartitions(for: next.sequence)
    let last = ownership.end
    let rows = try last.digest.withView { (previous) throws(StoreError) in
      try next.digest.withView { (digest) throws(StoreError) in
        try execute(
          Self.appendStatement,
          [
            .integer(Self.log), .integer(ownership.epoch), .integer(last.sequence), .bytes(previous), .bytes(digest),
            .bytes(batch),
          ], "a commit has no answer", milliseconds: milliseconds)
      }
    }
    try checkStandbys(have: "a commit")
    return rows.written == 1
  }

  /// Creates the partition of the table for a sequence, and the next one.
  private func makePartitions(for sequence: Int64) throws(StoreError) {
    guard sequence >= partitionsEnd else { return }
    let connection = try connection()
    guard let size = cluster?.partitionSize else { return }
    let first = sequence / size
    var script = ""
    for partition in first...(first + 1) {
      script +=
        "CREATE TABLE IF NOT EXISTS ruled.commits_\(partition) PARTITION OF ruled.commits FOR VALUES FROM (\(partition * size)) "
      script += "TO (\((partition + 1) * size));"
    }
    do throws(PostgresError) { try connection.run(script: script, milliseconds: settings.commitTimeout) } catch {
      throw error.storeError("the log can't get another partition")
    }
    partitionsEnd = (first + 1) * size
  }

  // MARK: For the overview

  /// What the database could lose with its current settings; nil if it loses nothing that was acknowledged.
  func durabilityProblem() throws(StoreError) -> String? { problem(of: try durability()) }

  /// The current settings.
  func durability() throws(StoreError) -> DurabilityReview {
    let connection = try connection()
    do throws(PostgresError) {
      return try DurabilityReview.read(connection, milliseconds: settings.lease)
    } catch { throw error.storeError("the settings of the database can't be read") }
  }

  /// What a database with these settings could lose although the configuration does not allow that.
  func problem(of review: DurabilityReview) -> String? { review.problem(allowsPrimary: settings.allowsPrimary) }

  /// Executes a statement of the overview.
  func ask(_ statement: PostgresStatement, _ values: [PostgresValue] = []) throws(StoreError) -> PostgresRows {
    try execute(statement, values, "the state of the cluster can't be read")
  }
}

/// The right to write a log.
package struct Ownership: Sendable, Equatable {
  /// The epoch under which the owner writes.
  package let epoch: Int64
  /// The end of the log, which only the owner moves.
  package let end: LogPosition
}
