import RuledCore

/// A node's findings about its database at a start, without a change to it: `ruled --check` shows them.
package struct DatabaseReview {
  /// The problems that keep the node from starting, or would soon keep it from committing; a sentence each.
  package private(set) var problems: [String] = []
  /// The failures that an acknowledged commit survives, after the version of PostgreSQL; nil if the database can't be reached.
  package private(set) var promise: String?

  /// The number of statements that a node executes in the time of a lease, about.
  private static let leaseStatements = 10

  /// Connects to the database of a node, and reviews it.
  package init(_ settings: ClusterSettings) {
    do throws(PostgresError) {
      let connection = try PostgresConnection(settings.url, seconds: LogClient.connectionSeconds)
      let start = MonotonicClock.milliseconds
      let durability = try DurabilityReview.read(connection, milliseconds: settings.commitTimeout)
      let took = MonotonicClock.milliseconds - start
      if let problem = durability.standbyProblem {
        problems.append(problem)
        return
      }
      let problem = durability.problem(with: settings.durability)
      if let problem { problems.append(problem) }
      if took * Self.leaseStatements > settings.lease {
        problems.append(
          "a statement took \(took) ms, and a node executes some \(Self.leaseStatements) in the time of a lease: raise cluster.lease"
        )
      }
      let areThere = try reviewRights(connection, settings, durability)
      if settings.waitsForStandbys, problem == nil { try reviewStandbys(connection, settings) }
      if areThere { try reviewFormat(connection, settings) }
    } catch { problems.append(error.message) }
  }

  /// Reviews the user's rights; returns whether the tables are there and may be used.
  private mutating func reviewRights(
    _ connection: PostgresConnection, _ settings: ClusterSettings, _ durability: DurabilityReview
  ) throws(PostgresError) -> Bool {
    let rows = try connection.execute(
      """
      SELECT current_setting('server_version'), current_user, current_database(), \
      has_database_privilege(current_database(), 'CREATE'), current_setting('transaction_read_only')::bool, n.oid IS NOT NULL, \
      coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE'), true), \
      (SELECT string_agg(DISTINCT pg_get_userbyid(c.relowner)::text, ', ') FROM pg_class c \
      WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE')) \
      FROM (SELECT) AS one LEFT JOIN pg_namespace n ON n.nspname = 'ruled'
      """, milliseconds: settings.commitTimeout)
    let (user, database) = (rows.text(0, 1), rows.text(0, 2))
    promise = "PostgreSQL \(rows.text(0, 0)): \(durability.promise(with: settings.durability))"
    if rows.boolean(0, 4) {
      problems.append(
        "transactions of \(user) are read-only in the database \(database): turn default_transaction_read_only off")
    }
    guard rows.boolean(0, 5) else {
      if !rows.boolean(0, 3) {
        problems.append(
          "the user \(user) may not make the schema ruled: GRANT CREATE ON DATABASE \"\(database)\" TO \"\(user)\"")
      }
      return false
    }
    let owners = rows.text(0, 7)
    if !rows.boolean(0, 6) {
      problems.append("the user \(user) may not use the schema ruled: GRANT ALL ON SCHEMA ruled TO \"\(user)\"")
    } else if !owners.isEmpty {
      problems.append(
        "the tables in the schema ruled are those of \(owners), and only their owner can add partitions to the log: "
          + "GRANT \"\(owners)\" TO \"\(user)\", or connect as \(owners)")
    }
    return rows.boolean(0, 6) && owners.isEmpty
  }

  /// Reviews whether a standby is there that commits wait for, if the user may see that.
  private mutating func reviewStandbys(
    _ connection: PostgresConnection, _ settings: ClusterSettings
  ) throws(PostgresError) {
    let rows = try connection.execute(
      """
      SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state IS NULL) \
      FROM pg_stat_replication
      """, milliseconds: settings.commitTimeout)
    guard rows.integer(0, 0) == 0, rows.integer(0, 1) == 0 else { return }
    problems.append("no standby that commits wait for is connected to the primary: nothing would be acknowledged")
  }

  private mutating func reviewFormat(
    _ connection: PostgresConnection, _ settings: ClusterSettings
  ) throws(PostgresError) {
    guard let found = try ClusterSchema.read(connection)?.format else { return }
    if found > settings.schema.newest { problems.append(settings.schema.later(found)) }
    if found < ClusterSchema.firstWithOneDatabase {
      try connection.run(script: ClusterSchema.refuseFurtherDatabases, milliseconds: settings.commitTimeout)
    }
  }
}
