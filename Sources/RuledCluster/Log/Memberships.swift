import RuledStore

/// Which databases the log is in, as the cluster's database lists them and as the further ones say themselves; one thread at a time uses it.
///
/// A further database has, in its schema `ruled`, the log's own tables and a table `membership` with one row: its unique id, the id of its
/// cluster, the format of these tables. An owner of the log lists it in the cluster's database before it writes there.
final class Memberships {
  /// The cluster; nil before the first connection to its database.
  var cluster: ClusterSchema.Cluster?
  /// The names of the listed databases, by id.
  private var registered: [String: String] = [:]
  /// What each further database of the settings says of itself, by its index; only those that were connected once.
  private var found: [Int: (id: String, name: String)] = [:]

  /// Whether there are further databases with a part of the log.
  var hasRegistered: Bool { !registered.isEmpty }

  /// Whether the tables have a list of further databases.
  var canRegister: Bool { (cluster?.format ?? 0) >= ClusterSchema.firstWithDatabases }

  // MARK: The cluster's database

  private static let listStatement = PostgresStatement("SELECT id, name FROM ruled.databases")

  /// Notes the cluster of a new connection to its database, and the databases that it lists.
  func note(_ cluster: ClusterSchema.Cluster, _ connection: PostgresConnection) throws(PostgresError) {
    if let known = self.cluster, known.id != cluster.id {
      throw PostgresError(
        .refused(sqlstate: ""), "the database now has another cluster: \(cluster.id) instead of \(known.id)")
    }
    self.cluster = cluster
    guard canRegister else { return }
    let rows = try connection.execute(Self.listStatement, milliseconds: ClusterSchema.timeout)
    registered = Dictionary(uniqueKeysWithValues: (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) })
  }

  /// Reads the list again, from tables that may have a later format by now.
  ///
  /// Call `check` afterwards.
  func reload(_ first: LogDatabase) throws(StoreError) {
    let connection = try first.connection()
    do throws(PostgresError) {
      guard let cluster = try ClusterSchema.read(connection) else { return }
      try note(cluster, connection)
    } catch { throw error.storeError("the databases of the log can't be listed") }
  }

  /// Checks that the settings name each listed database, and none twice.
  ///
  /// All that they name must be connected.
  func check() throws(StoreError) {
    let ids = Set(found.values.map(\.id))
    guard ids.count == found.count else {
      throw StoreError(.refused, "two URLs in 'databases' lead to the same database: name each one once")
    }
    guard let missing = registered.first(where: { !ids.contains($0.key) }) else { return }
    throw StoreError(
      .refused,
      "a part of the log is in the database \(missing.value), which 'databases' in this node's configuration does not name: add it, and "
        + "start the node again")
  }

  private static let registerStatement = PostgresStatement(
    """
    WITH held AS (SELECT FROM ruled.logs WHERE log = $1::int8 AND epoch = $2::int8 FOR UPDATE) \
    INSERT INTO ruled.databases (id, name) SELECT $3::text, $4::text FROM held
    """)

  /// Lists the further databases of the settings that are not listed yet, for the owner of that epoch; false if another node owns the log.
  func register(in first: LogDatabase, epoch: Int64) throws(StoreError) -> Bool {
    for (id, name) in found.values where registered[id] == nil {
      let rows = try first.execute(
        Self.registerStatement, [.integer(LogDatabase.log), .integer(epoch), .text(id), .text(name)],
        "the database \(name) can't be listed")
      try first.checkStandbys(have: "the list of databases")
      guard rows.written == 1 else { return false }
      registered[id] = name
    }
    return true
  }

  // MARK: Further databases

  /// The format of the tables in a further database.
  private static let format: Int64 = 1
  private static let existsStatement = PostgresStatement(
    "SELECT to_regclass('ruled.membership') IS NOT NULL, to_regclass('ruled.cluster') IS NOT NULL")
  private static let membershipStatement = PostgresStatement(
    """
    SELECT id, cluster, format, current_database() || coalesce(' at ' || host(inet_server_addr()) || ':' || inet_server_port(), '') \
    FROM ruled.membership
    """)

  /// Creates the tables in a further database if there are none, and checks that it belongs to the cluster, at a new connection.
  func prepare(_ index: Int, _ connection: PostgresConnection) throws(PostgresError) {
    guard let cluster else {
      throw PostgresError(.unreachable, "the cluster's own database was not reached yet")
    }
    let exists = try connection.execute(Self.existsStatement, milliseconds: ClusterSchema.timeout)
    guard !exists.boolean(0, 1) else {
      throw PostgresError(
        .refused(sqlstate: ""),
        "'databases' names the database of a cluster, this one's or another's: each part of the log needs a database of its own"
      )
    }
    if !exists.boolean(0, 0) {
      let script = """
        BEGIN; SELECT pg_advisory_xact_lock(\(ClusterSchema.lockNumber)); CREATE SCHEMA IF NOT EXISTS ruled; \
        DO $do$ BEGIN IF to_regclass('ruled.membership') IS NOT NULL THEN RETURN; END IF; \
        CREATE TABLE ruled.membership (id text NOT NULL, cluster text NOT NULL, format int8 NOT NULL); \
        \(ClusterSchema.logs) \(ClusterSchema.commits) \(ClusterSchema.firstLog) \
        INSERT INTO ruled.membership VALUES (gen_random_uuid()::text, '\(cluster.id)', \(Self.format)); \
        END $do$; COMMIT;
        """
      do throws(PostgresError) { try connection.run(script: script, milliseconds: ClusterSchema.timeout) } catch {
        throw PostgresError(error.kind, "the tables of the log can't be made: \(error.message)")
      }
    }
    let rows = try connection.execute(Self.membershipStatement, milliseconds: ClusterSchema.timeout)
    guard rows.count == 1 else {
      throw PostgresError(.refused(sqlstate: ""), "the table ruled.membership has not one row, but \(rows.count)")
    }
    let (id, owner, format, name) = (rows.text(0, 0), rows.text(0, 1), rows.integer(0, 2), rows.text(0, 3))
    guard format == Self.format else {
      throw PostgresError(
        .refused(sqlstate: ""),
        "a later version of ruled made the tables of \(name) (format \(format), this one reads \(Self.format)): install that version here"
      )
    }
    guard owner == cluster.id else {
      throw PostgresError(
        .refused(sqlstate: ""),
        "'databases' names \(name), which has a part of the log of the cluster \(owner), not of \(cluster.id)")
    }
    if let known = found[index], known.id != id {
      throw PostgresError(.refused(sqlstate: ""), "\(name) is another database than before")
    }
    found[index] = (id, name)
  }
}
