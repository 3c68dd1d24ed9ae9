import RuledCore
import RuledStore

/// The right to write a log.
struct Ownership: Sendable, Equatable {
  let epoch: Int64
  /// The end of the log, which only the owner moves.
  var end: LogPosition
}

/// Owning the log, and appending to it.
extension LogClient {
  /// Makes `node` the owner unless another node became it since `head` was read: then the result is nil.
  ///
  /// A drained node does not become the owner.
  func takeOver(for node: NodeIdentity, from head: LogHead) throws(StoreError) -> Ownership? {
    try raise(
      """
      UPDATE ruled.logs SET epoch = epoch + 1, owner = $3::text, incarnation = $4::text \
      WHERE log = $1::int8 AND epoch = $2::int8 AND NOT EXISTS (SELECT 1 FROM ruled.nodes WHERE node = $3::text AND drained) \
      RETURNING epoch, sequence, digest
      """, [.integer(Self.log), .integer(head.epoch), .text(node.name), .text(node.incarnation)])
  }

  /// Raises the epoch of the owner `node`, and returns it with the end of the log; nil if another node owns the log by now.
  ///
  /// After a missing answer this settles the outcome: earlier batches of the node have the old epoch and can't take effect any more. Batches that had
  /// taken effect are as durable as this statement, for which the standbys have answered.
  func raiseEpoch(for node: NodeIdentity) throws(StoreError) -> Ownership? {
    try raise(
      """
      UPDATE ruled.logs SET epoch = epoch + 1 WHERE log = $1::int8 AND owner = $2::text AND incarnation = $3::text \
      RETURNING epoch, sequence, digest
      """, [.integer(Self.log), .text(node.name), .text(node.incarnation)])
  }

  /// Executes a statement that returns the new epoch and the end of the log; nil if another node owns the log.
  private func raise(_ statement: PostgresStatement, _ values: [PostgresValue]) throws(StoreError) -> Ownership? {
    do throws(StoreError) {
      let rows = try execute(statement, values, "the ownership of the log is not known")
      try checkStandbys(have: "the new epoch")
      guard rows.count == 1 else { return nil }
      let ownership = Ownership(epoch: rows.integer(0, 0), end: rows.position(0, 1))
      // An owner of an earlier version may have put a part of the log elsewhere. From now on none can.
      if let format = cluster?.format, format < ClusterSchema.firstWithOneDatabase {
        try run(ClusterSchema.refuseFurtherDatabases, "this node can't own the log")
      }
      return ownership
    } catch {
      // Perhaps a node stopped in the middle of a statement: its lease is over, so its transaction may be ended.
      if error.underlying.hasPrefix(Self.lockNotAvailable) { try endHolders() }
      throw error
    }
  }

  static let lockNotAvailable = "55P03"

  /// Ends the transactions that hold the row of the log while they wait for more input: of a node that stopped, or of a person.
  ///
  /// Throws an error that names the session if the database does not let this node end it.
  private func endHolders() throws(StoreError) {
    let rows = try execute(
      """
      SELECT a.pid::int8, a.usename, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
      WHERE l.relation = 'ruled.logs'::regclass AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND l.granted \
      AND l.database = a.datid AND a.datname = current_database() AND (a.wait_event = 'ClientRead' OR a.state IS NULL)
      """, [], "it is not known which session holds the row of the log")
    let holders = (0..<rows.count).map { (rows.integer($0, 0), rows.text($0, 1), rows.text($0, 2)) }
    for (process, user, application) in holders {
      try execute(
        "SELECT pg_terminate_backend($1::int8::int4)", [.integer(process)],
        "an open transaction holds the row of the log, so nothing can be committed: end the session of \(user) (\(application), process "
          + "\(process)) in the database")
    }
  }

  private static let appendStatement = PostgresStatement(
    kept: "append",
    """
    WITH held AS (UPDATE ruled.logs SET sequence = sequence + 1, digest = $5::bytea \
    WHERE log = $1::int8 AND epoch = $2::int8 AND sequence = $3::int8 AND digest = $4::bytea RETURNING sequence) \
    INSERT INTO ruled.commits (log, sequence, epoch, previous, digest, batch) \
    SELECT $1::int8, sequence, $2::int8, $4::bytea, $5::bytea, $6::bytea FROM held
    """)

  /// Appends a batch at the end of the log in `ownership`, in one statement; false if another node owns the log.
  ///
  /// After an error the outcome is unknown until `raiseEpoch` resolves it.
  func append(_ batch: ByteView, from ownership: Ownership, to next: LogPosition, milliseconds: Int) throws(StoreError)
    -> Bool
  {
    try makePartitions(for: next.sequence)
    let rows = try ownership.end.digest.withView { (previous) throws(StoreError) in
      try next.digest.withView { (digest) throws(StoreError) in
        try execute(
          Self.appendStatement,
          [
            .integer(Self.log), .integer(ownership.epoch), .integer(ownership.end.sequence), .bytes(previous),
            .bytes(digest), .bytes(batch),
          ], "a commit has no answer", milliseconds: milliseconds)
      }
    }
    try checkStandbys(have: "a commit")
    return rows.written == 1
  }
}
