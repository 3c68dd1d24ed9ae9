import RuledStore

/// The list of snapshots, the turn to write one, and the cutting of the log.
extension LogClient {
  func snapshots() throws(StoreError) -> [Snapshot] {
    let rows = try execute(
      "SELECT name, sequence, digest, bytes, node, format FROM ruled.snapshots ORDER BY sequence DESC",
      [], "the snapshots can't be listed")
    return (0..<rows.count).map { row in
      Snapshot(
        name: rows.text(row, 0), position: rows.position(row, 1), bytes: Int(rows.integer(row, 3)),
        node: rows.text(row, 4), format: Int(rows.integer(row, 5)))
    }
  }

  func snapshotNeed(for node: NodeIdentity) throws(StoreError) -> SnapshotNeed {
    let end = try readHead().position.sequence
    let rows = try execute(
      """
      SELECT coalesce((SELECT max(sequence) FROM ruled.snapshots), -1), \
      coalesce((extract(epoch FROM clock_timestamp() - (SELECT max(time) FROM ruled.snapshots)) * 1000000)::int8, 0), \
      (SELECT count(*) FROM ruled.nodes WHERE node <> $1::text AND lease >= clock_timestamp())
      """, [.text(node.name)], "the snapshots can't be listed")
    let last = rows.integer(0, 0)
    return SnapshotNeed(end: end, last: last, age: last < 0 ? nil : rows.integer(0, 1), others: rows.integer(0, 2))
  }

  /// Gives `node` the turn to write a snapshot, or extends it, for `milliseconds`; false while another node has it.
  func takeSnapshotTurn(for node: NodeIdentity, milliseconds: Int) throws(StoreError) -> Bool {
    try execute(
      """
      INSERT INTO ruled.turns AS t (what, node, incarnation, lease) \
      SELECT 'snapshot', $1::text, $2::text, clock_timestamp() + $3::int8 * interval '1 millisecond' \
      FROM (SELECT set_config('synchronous_commit', 'local', true)) AS s \
      ON CONFLICT (what) DO UPDATE SET node = excluded.node, incarnation = excluded.incarnation, lease = excluded.lease \
      WHERE t.incarnation = excluded.incarnation OR t.lease < clock_timestamp()
      """, [.text(node.name), .text(node.incarnation), .integer(Int64(milliseconds))],
      "whose turn it is to write a snapshot is not known"
    ).written == 1
  }

  /// Ends the turn of `node`, if it has it.
  func endSnapshotTurn(of node: NodeIdentity) throws(StoreError) {
    try execute(
      "DELETE FROM ruled.turns WHERE what = 'snapshot' AND incarnation = $1::text",
      [.text(node.incarnation)], "the turn to write a snapshot can't be given back")
  }

  /// Adds a verified snapshot to the list; false if its node no longer has the turn.
  ///
  /// Throws `diverged` if the snapshot has played back other batches than the log contains.
  func add(_ snapshot: Snapshot, for node: NodeIdentity) throws(StoreError) -> Bool {
    guard try digest(of: snapshot.position.sequence) == snapshot.position.digest else {
      throw StoreError(.diverged, "the snapshot \(snapshot.name) has not played back what the log has")
    }
    return try snapshot.position.digest.withView { (digest) throws(StoreError) in
      try execute(
        """
        INSERT INTO ruled.snapshots (name, sequence, digest, bytes, node, time, format) \
        SELECT $1::text, $2::int8, $3::bytea, $4::int8, $5::text, clock_timestamp(), $6::int8 FROM ruled.turns \
        WHERE what = 'snapshot' AND incarnation = $7::text AND lease >= clock_timestamp()
        """,
        [
          .text(snapshot.name), .integer(snapshot.position.sequence), .bytes(digest), .integer(Int64(snapshot.bytes)),
          .text(snapshot.node), .integer(Int64(snapshot.format)), .text(node.incarnation),
        ], "the snapshot \(snapshot.name) can't be listed")
    }.written == 1
  }

  /// Removes all but the last `count` snapshots from the list.
  ///
  /// A snapshot that a node may be starting from stays: the node's lease has the same position.
  func forgetSnapshots(keeping count: Int) throws(StoreError) {
    try execute(
      """
      DELETE FROM ruled.snapshots s WHERE name NOT IN (SELECT name FROM ruled.snapshots ORDER BY sequence DESC LIMIT $1::int8) \
      AND NOT EXISTS (SELECT 1 FROM ruled.nodes n WHERE n.sequence = s.sequence AND n.lease >= clock_timestamp())
      """, [.integer(Int64(count))], "old snapshots can't be taken off the list")
  }

  /// Drops the partitions of the log that neither a live node needs nor a start from the second last snapshot; returns their number.
  func cut() throws(StoreError) -> Int {
    let rows = try execute(
      """
      SELECT least((SELECT sequence FROM ruled.snapshots ORDER BY sequence DESC OFFSET 1 LIMIT 1), s.sequence) \
      FROM (SELECT min(sequence) AS sequence FROM ruled.nodes WHERE lease >= clock_timestamp()) AS s \
      WHERE s.sequence IS NOT NULL AND (SELECT count(*) FROM ruled.snapshots) > 1
      """, [], "it is not known what of the log is needed")
    guard rows.count == 1 else { return 0 }
    return try dropPartitions(before: rows.integer(0, 0) + 1)
  }
}
