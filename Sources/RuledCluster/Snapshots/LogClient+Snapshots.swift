import RuledCore
import RuledStore

/// A snapshot that was read back, as the database lists it.
struct Snapshot: Sendable, Equatable {
  /// The name of its folder.
  var name: String
  /// What its store has played back.
  var position: LogPosition
  /// How many bytes its files have.
  var bytes: Int
  /// The node that wrote it.
  var node: String
  /// The format of its store.
  var format: Int
}

/// Whether it is time for a snapshot, as the database says.
struct SnapshotNeed: Sendable, Equatable {
  /// The end of the log.
  let end: Int64
  /// What the latest snapshot has played back; -1 without one.
  let last: Int64
  /// Whether the latest snapshot is as old as one may get; true without one.
  let isOld: Bool
  /// How many other nodes are alive.
  let others: Int64
}

/// Which snapshots there are, whose turn it is to write one, and where the log is cut.
extension LogClient {
  private static let listStatement = PostgresStatement(
    "SELECT name, sequence, digest, bytes, node, format FROM ruled.snapshots ORDER BY sequence DESC")

  /// The snapshots, the latest first.
  func snapshots() throws(StoreError) -> [Snapshot] {
    let rows = try execute(Self.listStatement, [], "the snapshots can't be listed")
    return (0..<rows.count).map { row in
      Snapshot(
        name: rows.text(row, 0), position: Self.position(rows, row, 1), bytes: Int(rows.integer(row, 3)),
        node: rows.text(row, 4), format: Int(rows.integer(row, 5)))
    }
  }

  private static let needStatement = PostgresStatement(
    """
    SELECT l.sequence, coalesce((SELECT max(sequence) FROM ruled.snapshots), -1), \
    coalesce((SELECT max(time) FROM ruled.snapshots) + $2::int8 * interval '1 microsecond' <= clock_timestamp(), true), \
    (SELECT count(*) FROM ruled.nodes WHERE node <> $3::text AND lease >= clock_timestamp()) \
    FROM ruled.logs l WHERE l.log = $1::int8
    """)

  /// Whether it is time for a snapshot, if there is to be one every so many microseconds; `node` asks.
  func snapshotNeed(every: Int64, for node: NodeIdentity) throws(StoreError) -> SnapshotNeed {
    let rows = try execute(
      Self.needStatement, [.integer(Self.log), .integer(every), .text(node.name)], "the snapshots can't be listed")
    guard rows.count == 1 else {
      throw StoreError(.corrupt, "the database has no log of commits: restore it from a backup")
    }
    return SnapshotNeed(
      end: rows.integer(0, 0), last: rows.integer(0, 1), isOld: rows.boolean(0, 2), others: rows.integer(0, 3))
  }

  // MARK: Turns

  private static let turnStatement = PostgresStatement(
    """
    INSERT INTO ruled.turns AS t (what, node, incarnation, lease) \
    SELECT 'snapshot', $1::text, $2::text, clock_timestamp() + $3::int8 * interval '1 millisecond' \
    FROM (SELECT set_config('synchronous_commit', 'local', true)) AS s \
    ON CONFLICT (what) DO UPDATE SET node = excluded.node, incarnation = excluded.incarnation, lease = excluded.lease \
    WHERE t.incarnation = excluded.incarnation OR t.lease < clock_timestamp()
    """)

  /// Gives `node` the turn to write a snapshot, or lets it keep it, for so many milliseconds; false while another node has it.
  func takeSnapshotTurn(for node: NodeIdentity, milliseconds: Int) throws(StoreError) -> Bool {
    try execute(
      Self.turnStatement, [.text(node.name), .text(node.incarnation), .integer(Int64(milliseconds))],
      "whose turn it is to write a snapshot is not known"
    ).written == 1
  }

  private static let endTurnStatement = PostgresStatement(
    "DELETE FROM ruled.turns WHERE what = 'snapshot' AND incarnation = $1::text")

  /// Ends the turn of `node`, if it has it.
  func endSnapshotTurn(of node: NodeIdentity) throws(StoreError) {
    _ = try execute(
      Self.endTurnStatement, [.text(node.incarnation)], "the turn to write a snapshot can't be given back")
  }

  // MARK: Recording

  private static let recordStatement = PostgresStatement(
    """
    INSERT INTO ruled.snapshots (name, sequence, digest, bytes, node, time, format) \
    SELECT $1::text, $2::int8, $3::bytea, $4::int8, $5::text, clock_timestamp(), $6::int8 FROM ruled.turns \
    WHERE what = 'snapshot' AND incarnation = $7::text AND lease >= clock_timestamp()
    """)

  /// Lists a snapshot that was read back; false if its node no longer has the turn.
  ///
  /// Throws `diverged` if the log does not have what the snapshot has played back.
  func record(_ snapshot: Snapshot, for node: NodeIdentity) throws(StoreError) -> Bool {
    guard try digest(of: snapshot.position.sequence) == snapshot.position.digest else {
      throw StoreError(.diverged, "the snapshot \(snapshot.name) has not played back what the log has")
    }
    return try snapshot.position.digest.withView { (digest) throws(StoreError) in
      try execute(
        Self.recordStatement,
        [
          .text(snapshot.name), .integer(snapshot.position.sequence), .bytes(digest), .integer(Int64(snapshot.bytes)),
          .text(snapshot.node), .integer(Int64(snapshot.format)), .text(node.incarnation),
        ], "the snapshot \(snapshot.name) can't be listed")
    }.written == 1
  }

  private static let forgetStatement = PostgresStatement(
    """
    DELETE FROM ruled.snapshots s WHERE name NOT IN (SELECT name FROM ruled.snapshots ORDER BY sequence DESC LIMIT $1::int8) \
    AND NOT EXISTS (SELECT 1 FROM ruled.nodes n WHERE n.sequence = s.sequence AND n.lease >= clock_timestamp())
    """)

  /// Takes all but the last `count` snapshots off the list, and but for those that a node may be starting from: its lease has their place.
  func forgetSnapshots(keeping count: Int) throws(StoreError) {
    _ = try execute(Self.forgetStatement, [.integer(Int64(count))], "old snapshots can't be taken off the list")
  }

  // MARK: Cutting

  private static let hasStatement = PostgresStatement(
    "SELECT EXISTS (SELECT 1 FROM ruled.commits WHERE log = $1::int8 AND sequence = $2::int8)")

  /// Whether the log goes on behind a place, as far as it was not cut.
  func continues(after position: LogPosition) throws(StoreError) -> Bool {
    if try look().position.sequence <= position.sequence { return true }
    return try execute(
      Self.hasStatement, [.integer(Self.log), .integer(position.sequence + 1)], "the log can't be read"
    ).boolean(0, 0)
  }

  private static let unneededStatement = PostgresStatement(
    """
    SELECT least((SELECT sequence FROM ruled.snapshots ORDER BY sequence DESC OFFSET 1 LIMIT 1), s.sequence) \
    FROM (SELECT min(sequence) AS sequence FROM ruled.nodes WHERE lease >= clock_timestamp()) AS s \
    WHERE s.sequence IS NOT NULL AND (SELECT count(*) FROM ruled.snapshots) > 1
    """)

  /// Drops the parts of the log that neither a node which is alive nor one that starts from the second last snapshot plays back; gives how many.
  func cut() throws(StoreError) -> Int {
    let rows = try execute(Self.unneededStatement, [], "it is not known what of the log is needed")
    guard rows.count == 1 else { return 0 }
    return try dropParts(before: rows.integer(0, 0) + 1)
  }

  private static let partsStatement = PostgresStatement(
    """
    SELECT substr(c.relname, 9)::int8 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
    WHERE i.inhparent = 'ruled.commits'::regclass ORDER BY 1
    """)

  /// Drops the parts of the table whose batches all come before `sequence`; gives how many.
  ///
  /// Each drop keeps commits waiting for 0.2 s at most, and fails if it would have to wait longer for a reader.
  func dropParts(before sequence: Int64) throws(StoreError) -> Int {
    let rows = try execute(Self.partsStatement, [], "the parts of the log can't be listed")
    guard let size = cluster?.part else { return 0 }
    let old = (0..<rows.count).map { rows.integer($0, 0) }.filter { ($0 + 1) * size <= sequence }
    for part in old {
      let connection = try connection()
      // With the standbys' answer awaited under the table's lock, commits would wait for it, too. A fail-over that undoes the drop harms nothing.
      let script = """
        DO $do$ BEGIN PERFORM set_config('lock_timeout', '200', true), set_config('synchronous_commit', 'local', true); \
        DROP TABLE IF EXISTS ruled.commits_\(part); END $do$
        """
      do throws(PostgresError) { try connection.run(script: script, milliseconds: Self.dropMilliseconds) } catch {
        throw error.storeError("old parts of the log can't be dropped")
      }
    }
    return old.count
  }

  /// How long a part may take to be dropped, in milliseconds.
  private static let dropMilliseconds = 20_000
}
