import RuledStore

/// A node's part in the upgrade of tables with an earlier format than it reads.
enum FormatReview: Sendable, Equatable {
  /// The tables have the format that the node writes.
  case isNewest
  /// They keep their format until these nodes read the later one, separated by commas.
  case waits(for: String)
  /// They have the latest format now.
  case upgraded
}

extension LogClient {
  /// Stores which format `node` reads, if that is a later one than the tables have; the owner upgrades the tables once all others read it.
  ///
  /// Throws `newer_format` if the tables have a later format than this version knows.
  func reviewFormat(for node: NodeIdentity, isOwner: Bool) throws(StoreError) -> FormatReview {
    let schema = settings.schema
    let found = try execute(
      "SELECT format FROM ruled.cluster", [], "the format of the tables can't be read"
    ).integer(0, 0)
    guard found <= schema.newest else { throw StoreError(.newerFormat, schema.later(found)) }
    noteFormat(found)
    guard found < schema.newest else { return .isNewest }
    try run(ClusterSchema.readers, "the node can't say which format it reads")
    try execute(
      """
      INSERT INTO ruled.readers (node, incarnation, newest) SELECT $1::text, $2::text, $3::int8 \
      FROM (SELECT set_config('synchronous_commit', 'local', true)) AS s \
      ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation, newest = excluded.newest
      """, [.text(node.name), .text(node.incarnation), .integer(schema.newest)],
      "the node can't say which format it reads", milliseconds: settings.lease)
    let lacking = try execute(
      ClusterSchema.lacking, [.integer(schema.newest), .integer(1)],
      "the nodes that read the later format are not known"
    ).text(0, 0)
    guard isOwner, lacking.isEmpty else { return .waits(for: lacking) }
    try attempt("the tables of the cluster can't get format \(schema.newest)") { (connection) throws(PostgresError) in
      try schema.upgrade(connection, partitionSize: settings.partitionSize)
    }
    return .upgraded
  }
}
