import RuledCore
import RuledStore

/// One database with a part of the log, or all of it, over a connection that is reopened after a failure; one thread at a time uses it.
///
/// Each write is one statement, fenced by the epoch in the log's row of this database.
final class LogDatabase {
  /// The number of the log; there is one so far, with all subjects.
  static let log: Int64 = 0
  /// How long connecting may take for each host, in seconds.
  private static let connectionSeconds = 3
  /// How long a statement waits for a row that another transaction has locked, in milliseconds.
  private static let lockTimeout = 2_000

  private let url: String
  let settings: ClusterSettings
  private let prepare: (PostgresConnection) throws(PostgresError) -> Void
  private let counts: ClusterCounts?
  private var open: PostgresConnection?
  /// The first sequence for which there may be no partition of the table.
  private var partitionsEnd: Int64 = 0

  /// A database without a connection; `prepare` makes or checks the tables at each new connection, which is counted in `counts`.
  init(
    _ url: String, _ settings: ClusterSettings, counts: ClusterCounts?,
    prepare: @escaping (PostgresConnection) throws(PostgresError) -> Void
  ) {
    self.url = url
    self.settings = settings
    self.counts = counts
    self.prepare = prepare
  }

  // MARK: Connecting

  /// The connection, opened if there is none.
  ///
  /// Each new connection reviews the database, so that a failover to a server with other settings is noticed.
  func connection() throws(StoreError) -> PostgresConnection {
    if let open, open.isOpen { return open }
    open = nil
    do throws(PostgresError) {
      let made = try PostgresConnection(url, seconds: Self.connectionSeconds)
      try made.run(script: "SET lock_timeout = \(Self.lockTimeout)", milliseconds: settings.commitTimeout)
      let review = try DurabilityReview.read(made, milliseconds: settings.commitTimeout)
      if let problem = problem(of: review) { throw PostgresError(.unsafe, problem) }
      try prepare(made)
      open = made
      counts?.countConnection()
      return made
    } catch { throw error.storeError("there is no connection to the log of commits") }
  }

  /// Closes the connection.
  func disconnect() { open = nil }

  /// Executes a statement; an error begins with what was attempted.
  func execute(
    _ statement: PostgresStatement, _ values: [PostgresValue], _ attempt: String, milliseconds: Int? = nil
  ) throws(StoreError) -> PostgresRows {
    let connection = try connection()
    do throws(PostgresError) {
      return try connection.execute(statement, values, milliseconds: milliseconds ?? settings.commitTimeout)
    } catch { throw error.storeError(attempt) }
  }

  /// Executes commands without values; an error begins with what was attempted.
  func run(_ script: String, _ attempt: String, milliseconds: Int? = nil) throws(StoreError) {
    let connection = try connection()
    do throws(PostgresError) {
      try connection.run(script: script, milliseconds: milliseconds ?? settings.commitTimeout)
    } catch { throw error.storeError(attempt) }
  }

  /// Throws if the server has warned, with its last answer, that it did not wait for its standbys.
  func checkStandbys(have what: String) throws(StoreError) {
    guard let warning = open?.warning else { return }
    throw StoreError(
      .unreachable, "the database has not confirmed that its standbys have \(what)", underlying: warning)
  }

  // MARK: Reading

  private static let endStatement = PostgresStatement(
    kept: "end", "SELECT sequence, digest FROM ruled.logs WHERE log = $1::int8")

  /// The position after the last batch that is here.
  func end() throws(StoreError) -> LogPosition {
    let rows = try execute(Self.endStatement, [.integer(Self.log)], "the end of the log can't be read")
    guard rows.count == 1 else { throw Self.noLog }
    return rows.position(0, 0)
  }

  /// The error for a database whose tables have no row of the log.
  static let noLog = StoreError(.corrupt, "the database has no log of commits: restore it from a backup")

  private static let batchesStatement = PostgresStatement(
    kept: "read",
    """
    SELECT sequence, epoch, previous, digest, batch FROM ruled.commits \
    WHERE log = $1::int8 AND sequence > $2::int8 AND sequence <= $3::int8 ORDER BY sequence LIMIT $4::int8
    """)

  /// The batches that are here after a sequence and up to another one, at most `limit`; valid until the next statement.
  func batches(after sequence: Int64, upTo last: Int64, limit: Int) throws(StoreError) -> LogRows {
    LogRows(
      try execute(
        Self.batchesStatement,
        [.integer(Self.log), .integer(sequence), .integer(last), .integer(Int64(limit))], "the log can't be read"))
  }

  private static let digestStatement = PostgresStatement(
    """
    SELECT l.epoch, c.digest FROM ruled.logs l LEFT JOIN ruled.commits c ON c.log = l.log AND c.sequence = $2::int8 \
    WHERE l.log = $1::int8
    """)

  /// The digest of a batch, and the epoch of that moment; the digest is nil if the batch is not here, or no longer.
  func digest(of sequence: Int64) throws(StoreError) -> (digest: [UInt8]?, epoch: Int64) {
    let rows = try execute(Self.digestStatement, [.integer(Self.log), .integer(sequence)], "the log can't be read")
    guard rows.count == 1 else { throw Self.noLog }
    return (rows.bytes(0, 1).map { Array($0) }, rows.integer(0, 0))
  }

  // MARK: Owning

  /// Executes a statement that makes a node the owner, or keeps it the owner, in a new epoch; nil if another node owns the log.
  ///
  /// The statement returns the epoch and the end of what is here.
  func ownership(
    _ statement: PostgresStatement, _ values: [PostgresValue]
  ) throws(StoreError) -> (epoch: Int64, end: LogPosition)? {
    do throws(StoreError) {
      let rows = try execute(statement, values, "the ownership of the log is not known")
      try checkStandbys(have: "the new epoch")
      return rows.count == 1 ? (rows.integer(0, 0), rows.position(0, 1)) : nil
    } catch {
      // A node that was stopped in the middle of a statement holds the row. Its lease is over, so its transaction may be ended.
      if error.underlying.hasPrefix(Self.lockNotAvailable) { try endStuckWriters() }
      throw error
    }
  }

  private static let followStatement = PostgresStatement(
    """
    UPDATE ruled.logs SET epoch = $2::int8, owner = $3::text, incarnation = $4::text WHERE log = $1::int8 AND epoch < $2::int8 \
    RETURNING epoch, sequence, digest
    """)

  /// Makes `node`, to which the cluster's database has given an epoch, the owner here too; nil if there was that epoch already or a later one.
  func follow(_ node: NodeIdentity, epoch: Int64) throws(StoreError) -> LogPosition? {
    try ownership(
      Self.followStatement, [.integer(Self.log), .integer(epoch), .text(node.name), .text(node.incarnation)])?.end
  }

  static let lockNotAvailable = "55P03"
  private static let stuckStatement = PostgresStatement(
    """
    SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.relation = 'ruled.logs'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted AND a.wait_event = 'ClientRead'
    """)

  /// Ends the transactions that hold the row of the log while they wait for more input from their node.
  private func endStuckWriters() throws(StoreError) {
    _ = try execute(Self.stuckStatement, [], "the transaction of a node that stopped can't be ended")
  }

  // MARK: Appending

  private static let appendStatement = PostgresStatement(
    kept: "append",
    """
    WITH held AS (UPDATE ruled.logs SET sequence = $7::int8, digest = $5::bytea \
    WHERE log = $1::int8 AND epoch = $2::int8 AND sequence = $3::int8 AND digest = $4::bytea RETURNING sequence) \
    INSERT INTO ruled.commits (log, sequence, epoch, previous, digest, batch) \
    SELECT $1::int8, sequence, $2::int8, $8::bytea, $5::bytea, $6::bytea FROM held
    """)

  /// Appends a batch, in one statement, if the last one here is that before `end` and the epoch is still `epoch`; false otherwise.
  ///
  /// `previous` is the position before the batch in the whole log, `next` the one after it. After an error it is unknown what the database
  /// did or will do.
  func append(
    _ batch: ByteView, epoch: Int64, after end: LogPosition, previous: LogPosition, next: LogPosition, milliseconds: Int
  ) throws(StoreError) -> Bool {
    let rows = try end.digest.withView { (last) throws(StoreError) in
      try previous.digest.withView { (previous) throws(StoreError) in
        try next.digest.withView { (digest) throws(StoreError) in
          try execute(
            Self.appendStatement,
            [
              .integer(Self.log), .integer(epoch), .integer(end.sequence), .bytes(last), .bytes(digest), .bytes(batch),
              .integer(next.sequence), .bytes(previous),
            ], "a commit has no answer", milliseconds: milliseconds)
        }
      }
    }
    try checkStandbys(have: "a commit")
    return rows.written == 1
  }

  /// Creates the partition of the table for a sequence, and the next one, of `size` batches each.
  func makePartitions(for sequence: Int64, size: Int64) throws(StoreError) {
    guard sequence >= partitionsEnd else { return }
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

  // MARK: Cutting

  private static let partitionsStatement = PostgresStatement(
    """
    SELECT substr(c.relname, 9)::int8 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
    WHERE i.inhparent = 'ruled.commits'::regclass ORDER BY 1
    """)

  /// Drops the partitions of `size` batches that all come before `sequence`; returns how many.
  ///
  /// Each drop delays commits by 0.2 s at most. It fails if it would have to wait longer for a reader.
  func dropPartitions(before sequence: Int64, size: Int64) throws(StoreError) -> Int {
    let rows = try execute(Self.partitionsStatement, [], "the partitions of the log can't be listed")
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

  // MARK: Durability

  /// The current settings.
  func durability() throws(StoreError) -> DurabilityReview {
    let connection = try connection()
    do throws(PostgresError) {
      return try DurabilityReview.read(connection, milliseconds: settings.lease)
    } catch { throw error.storeError("the settings of the database can't be read") }
  }

  /// What a database with these settings could lose although the configuration does not allow that.
  func problem(of review: DurabilityReview) -> String? { review.problem(allowsPrimary: settings.allowsPrimary) }
}

/// Batches that a database has, in their order; valid until its next statement.
struct LogRows {
  private let rows: PostgresRows
  private var row = 0

  init(_ rows: PostgresRows) { self.rows = rows }

  /// The sequence of the batch; nil after the last one.
  var sequence: Int64? { row < rows.count ? rows.integer(row, 0) : nil }

  /// The batch.
  var batch: ByteView { rows.bytes(row, 4) ?? .empty }

  /// The position after the batch; nil unless it follows `position`.
  func position(following position: LogPosition) -> LogPosition? {
    let next = position.following(batch, epoch: rows.integer(row, 1))
    let follows =
      rows.bytes(row, 2)?.elementsEqual(position.digest) == true
      && rows.bytes(row, 3)?.elementsEqual(next.digest) == true
    return follows ? next : nil
  }

  /// Goes on to the next batch.
  mutating func advance() { row += 1 }
}

extension PostgresRows {
  /// The position in two columns of a row: sequence and digest.
  func position(_ row: Int, _ column: Int) -> LogPosition {
    LogPosition(sequence: integer(row, column), digest: bytes(row, column + 1).map { Array($0) } ?? [])
  }
}
