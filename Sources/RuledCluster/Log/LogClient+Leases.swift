import RuledStore

extension LogClient {
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
}
