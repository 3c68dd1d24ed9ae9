/// The tables of a cluster, in the schema `ruled` of its database.
///
/// | table | a row is |
/// | --- | --- |
/// | `cluster` | the cluster: its id, the format of its tables, the number of batches in a partition of the log |
/// | `logs` | a log: its epoch and owner, its last sequence and digest |
/// | `nodes` | a node: process, address, version, where it listens for others, its lease by the database's clock, whether it is drained, why its process could not go on |
/// | `commits` | a batch of commits; partitioned by sequence, so that old batches are dropped a partition at a time |
/// | `snapshots` | a verified snapshot in the folder of snapshots: its name, its position in the log |
/// | `turns` | a task that one node at a time does: which node, and until when |
/// | `revisions` | rules that a node has offered to the others, by revision |
/// | `loads` | whether a node's process could load a revision; with an empty revision: the process loads offered rules; with another name: a request for its folder |
/// | `readers` | which format a node's process reads, if that is a later one than the tables have; there from the first such process on |
///
/// The format covers the batches of the log too: a new layout of batches is a new format, if only with an empty script.
///
/// The first node creates the tables. They get a later format once each live node reads it; until then nodes that read it work with
/// the earlier one.
struct ClusterSchema: Sendable {
  /// For each format, the script that upgrades the tables to it from the format before.
  ///
  /// - Precondition: A released script never changes.
  let upgrades: [String]
  /// The earliest format that this version of the daemon works with.
  let oldest: Int64

  var newest: Int64 { Int64(upgrades.count) }

  /// The formats that this version of the daemon works with.
  static let current = ClusterSchema(upgrades: scripts, oldest: 5)

  private static let scripts = [
    """
    CREATE TABLE ruled.cluster (format int8 NOT NULL, id text NOT NULL, part int8 NOT NULL CHECK (part > 0));
    CREATE TABLE ruled.logs (
      log int8 PRIMARY KEY, epoch int8 NOT NULL, owner text, incarnation text, sequence int8 NOT NULL, digest bytea NOT NULL
    ) WITH (fillfactor = 10);
    CREATE TABLE ruled.nodes (
      node text PRIMARY KEY, incarnation text NOT NULL, address text NOT NULL, lease timestamptz NOT NULL, sequence int8 NOT NULL
    ) WITH (fillfactor = 10);
    CREATE TABLE ruled.commits (
      log int8 NOT NULL, sequence int8 NOT NULL, epoch int8 NOT NULL, previous bytea NOT NULL, digest bytea NOT NULL,
      batch bytea NOT NULL, PRIMARY KEY (log, sequence)
    ) PARTITION BY RANGE (sequence);
    ALTER TABLE ruled.commits ALTER batch SET STORAGE EXTERNAL;
    INSERT INTO ruled.cluster VALUES (0, gen_random_uuid()::text, :part);
    INSERT INTO ruled.logs VALUES (0, 0, NULL, NULL, 0, '');
    """,
    """
    ALTER TABLE ruled.nodes ADD version text NOT NULL DEFAULT '', ADD behind int8 NOT NULL DEFAULT 0,
      ADD drained boolean NOT NULL DEFAULT false;
    """,
    """
    CREATE TABLE ruled.snapshots (
      name text PRIMARY KEY, sequence int8 NOT NULL, digest bytea NOT NULL, bytes int8 NOT NULL, node text NOT NULL,
      time timestamptz NOT NULL, format int8 NOT NULL
    );
    CREATE TABLE ruled.turns (
      what text PRIMARY KEY, node text NOT NULL, incarnation text NOT NULL, lease timestamptz NOT NULL
    ) WITH (fillfactor = 10);
    """,
    """
    CREATE TABLE ruled.revisions (
      revision text PRIMARY KEY, content bytea NOT NULL, node text NOT NULL, time timestamptz NOT NULL
    );
    CREATE TABLE ruled.loads (
      node text NOT NULL, revision text NOT NULL, incarnation text NOT NULL, problem text NOT NULL, PRIMARY KEY (node, revision)
    );
    """,
    "ALTER TABLE ruled.nodes ADD COLUMN listen text NOT NULL DEFAULT '';",
    "ALTER TABLE ruled.nodes ADD COLUMN lent jsonb, ADD COLUMN moves int8;",
    "CREATE TABLE ruled.databases (id text PRIMARY KEY, name text NOT NULL);",
    """
    \(refusal)
    DROP TABLE ruled.databases;
    ALTER TABLE ruled.nodes DROP COLUMN lent, DROP COLUMN moves, ADD COLUMN problem text NOT NULL DEFAULT '';
    """,
  ]

  /// The first format without a list of further databases, each with a part of the log.
  static let firstWithOneDatabase: Int64 = 8
  /// The first format in which a node can say why its process could not go on.
  static let firstWithProblems: Int64 = 8
  /// Statements of PL/pgSQL that raise an error if tables of an earlier format list further databases.
  private static let refusal = """
    IF to_regclass('ruled.databases') IS NOT NULL THEN IF EXISTS (SELECT FROM ruled.databases) THEN RAISE EXCEPTION USING MESSAGE = \
    'a part of the log is in other databases (' || (SELECT string_agg(name, ', ' ORDER BY name) FROM ruled.databases) || \
    '), which this version does not read: bring it into one first, as the section Upgrading of \
    docs/cluster.md says'; END IF; END IF;
    """
  /// A script that fails if tables of an earlier format list further databases.
  static let refuseFurtherDatabases = "DO $do$ BEGIN \(refusal) END $do$"

  /// The cluster that the tables belong to.
  struct Cluster {
    let id: String
    /// The number of batches in a partition of the log.
    let partitionSize: Int64
    /// The format of the tables, as read last.
    var format: Int64
  }

  /// Creates the tables if there are none, with `partitionSize`; upgrades them to the latest format if this version does not work with theirs.
  func prepare(_ connection: PostgresConnection, partitionSize: Int64) throws(PostgresError) -> Cluster {
    if let cluster = try Self.read(connection) {
      guard cluster.format <= newest else { throw PostgresError(.refused(sqlstate: ""), later(cluster.format)) }
      if cluster.format >= oldest {
        if cluster.format < Self.firstWithOneDatabase {
          try connection.run(script: Self.refuseFurtherDatabases, milliseconds: Self.timeout)
        }
        return cluster
      }
    }
    do throws(PostgresError) { try upgrade(connection, partitionSize: partitionSize) } catch {
      throw PostgresError(error.kind, "the tables of the cluster can't be made: \(error.message)")
    }
    guard let cluster = try Self.read(connection) else {
      throw PostgresError(.refused(sqlstate: ""), "the tables of the cluster are not there after they were made")
    }
    return cluster
  }

  /// The error of a node that can't read tables of the format `found`.
  func later(_ found: Int64) -> String {
    "a later version of ruled made the tables of the cluster (format \(found), this one reads \(newest)): install that version here"
  }

  /// Upgrades the tables to the latest format, or creates them, in one transaction.
  ///
  /// Refuses while a node that is alive, or was a minute ago, does not read that format, and names the node.
  func upgrade(_ connection: PostgresConnection, partitionSize: Int64) throws(PostgresError) {
    // One node at a time. The lock ends with the transaction, so a node that dies meanwhile leaves nothing behind.
    var script = "BEGIN; SELECT pg_advisory_xact_lock(\(Self.lockNumber)); CREATE SCHEMA IF NOT EXISTS ruled;"
    script += Self.readers
    // No node gets a lease until the tables have the new format.
    script += """
      DO $do$ DECLARE found text; BEGIN IF to_regclass('ruled.cluster') IS NULL THEN RETURN; END IF; \
      IF (SELECT format FROM ruled.cluster) >= \(newest) THEN RETURN; END IF; \
      LOCK TABLE ruled.nodes IN SHARE ROW EXCLUSIVE MODE; \
      found := (\("\(Self.lacking.text)".replacing("$1", with: "\(newest)").replacing("$2", with: "0"))); \
      IF found IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = '\(Self.objectInUse)', MESSAGE = \
      'these nodes read no format after ' || (SELECT format FROM ruled.cluster) || ', this version needs \(newest): ' || found || \
      '; end them, or install a version between there first'; END IF; END $do$;
      """
    for (index, upgrade) in upgrades.enumerated() {
      // The block checks again whether the upgrade is done: another node may have done it while this one waited for the lock.
      let body = upgrade.replacing(":part", with: "\(partitionSize)")
      let isDone =
        index == 0
        ? "to_regclass('ruled.cluster') IS NOT NULL" : "(SELECT format FROM ruled.cluster) > \(index)"
      script +=
        "DO $do$ BEGIN IF \(isDone) THEN RETURN; END IF; \(body) UPDATE ruled.cluster SET format = \(index + 1); END $do$;"
    }
    script += "COMMIT;"
    do throws(PostgresError) { try connection.run(script: script, milliseconds: Self.timeout) } catch {
      if connection.isOpen { try? connection.run(script: "ROLLBACK", milliseconds: Self.timeout) }
      throw error
    }
  }

  /// The table of the formats that nodes read, which belongs to no format: nodes that read a later one make it.
  static let readers =
    "CREATE TABLE IF NOT EXISTS ruled.readers (node text PRIMARY KEY, incarnation text NOT NULL, newest int8 NOT NULL);"

  /// A query for the nodes that may be alive and do not say that they read the format `$1`, separated by commas.
  ///
  /// After an outage of the database all leases are over for a moment. A drained node is in an upgrade: it counts if `$2` is 1.
  static let lacking: PostgresStatement = """
    SELECT string_agg(n.node, ', ' ORDER BY n.node) FROM ruled.nodes n \
    WHERE (n.lease >= clock_timestamp() - interval '1 minute' OR n.drained AND $2::int8 = 1) \
    AND NOT EXISTS (SELECT 1 FROM ruled.readers r WHERE r.node = n.node AND r.incarnation = n.incarnation AND r.newest >= $1::int8)
    """

  private static let objectInUse = "55006"
  /// How long a change of the schema may take, in milliseconds.
  static let timeout = 60_000
  /// The number of the advisory lock on changes of the schema: `ruled` in ASCII.
  static let lockNumber = 0x72_75_6c_65_64

  /// The cluster of the tables; nil if there are none.
  static func read(_ connection: PostgresConnection) throws(PostgresError) -> Cluster? {
    let areThere = try connection.execute("SELECT to_regclass('ruled.cluster') IS NOT NULL", milliseconds: timeout)
    guard areThere.boolean(0, 0) else { return nil }
    let rows = try connection.execute("SELECT format, id, part FROM ruled.cluster", milliseconds: timeout)
    guard rows.count == 1 else { return nil }
    return Cluster(id: rows.text(0, 1), partitionSize: rows.integer(0, 2), format: rows.integer(0, 0))
  }
}
