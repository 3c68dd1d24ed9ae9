package import RuledCore
package import RuledStore

/// Lets the nodes of a cluster agree on a revision of the rules before it comes into force; one thread at a time uses it.
///
/// They do so through tables of the database. The owner offers the revision's content, or another node does, whose folder the owner is to
/// take. Each live follower loads it and reports. The tables only tell who could load it; a record in the log puts the revision in force.
package final class RevisionExchange {
  /// A live follower's report on a revision.
  package struct Report: Sendable, Equatable {
    package let node: String
    /// Whether it has tried to load the revision.
    package let hasTried: Bool
    /// Why it can't load the revision; empty if it can or has not tried.
    package let problem: String
  }

  private let client: LogClient
  private let identity: NodeIdentity
  /// The time of the latest revision that `takeLater` has passed on, in microseconds since 1970.
  private var latest = Int64.min
  /// The number of offers kept in the table.
  private static let kept: Int64 = 100

  package init(_ settings: ClusterSettings, identity: NodeIdentity) {
    client = LogClient(settings)
    self.identity = identity
  }

  // MARK: Offers

  /// Offers a revision to the followers; those with an earlier try of it try again.
  package func offer(_ revision: String, content: ByteView) throws(StoreError) {
    try client.execute(
      """
      WITH gone AS (DELETE FROM ruled.loads WHERE revision = $1::text) \
      INSERT INTO ruled.revisions (revision, content, node, time) VALUES ($1::text, $2::bytea, $3::text, clock_timestamp()) \
      ON CONFLICT (revision) DO UPDATE SET node = excluded.node, time = excluded.time
      """, [.text(revision), .bytes(content), .text(identity.name)], "the revision can't be offered")
    try client.execute(
      """
      DELETE FROM ruled.revisions WHERE revision NOT IN (SELECT revision FROM ruled.revisions ORDER BY time DESC LIMIT $1::int8)
      """, [.integer(Self.kept)], "old revisions can't be removed")
  }

  /// Replaces the content of a revision with the one for the archives of all nodes, now that it comes into force.
  package func distribute(_ revision: String, content: ByteView) throws(StoreError) {
    try client.execute(
      """
      INSERT INTO ruled.revisions (revision, content, node, time) VALUES ($1::text, $2::bytea, $3::text, clock_timestamp()) \
      ON CONFLICT (revision) DO UPDATE SET content = excluded.content, time = excluded.time
      """, [.text(revision), .bytes(content), .text(identity.name)], "the revision can't be shared")
  }

  /// Calls `body` with the content of each revision that was offered or distributed since the last call, the earliest first.
  package func takeLater(_ body: (ByteView) throws(StoreError) -> Void) throws(StoreError) {
    let rows: PostgresRows
    do throws(StoreError) {
      rows = try client.execute(
        """
        SELECT content, (extract(epoch FROM time) * 1000000)::int8 FROM ruled.revisions \
        WHERE (extract(epoch FROM time) * 1000000)::int8 > $1::int8 ORDER BY time
        """, [.integer(latest)], "the revisions can't be read")
    } catch {
      latest = .min  // the next primary may have an earlier clock
      throw error
    }
    for row in 0..<rows.count {
      try body(rows.bytes(row, 0) ?? .empty)
      latest = rows.integer(row, 1)
    }
  }

  /// The content of an offered revision; nil if it is not among the offers, or no longer.
  package func content(of revision: String) throws(StoreError) -> [UInt8]? {
    let rows = try client.execute(
      "SELECT content FROM ruled.revisions WHERE revision = $1::text",
      [.text(revision)], "the offered revision can't be read")
    return rows.count == 1 ? rows.bytes(0, 0).map { Array($0) } : nil
  }

  /// The reports on a revision of all other live nodes that load offered rules.
  package func reports(on revision: String) throws(StoreError) -> [Report] {
    let rows = try client.execute(
      """
      SELECT n.node, l.revision IS NOT NULL, coalesce(l.problem, '') FROM ruled.nodes n \
      JOIN ruled.loads r ON r.node = n.node AND r.incarnation = n.incarnation AND r.revision = '' \
      LEFT JOIN ruled.loads l ON l.node = n.node AND l.incarnation = n.incarnation AND l.revision = $1::text \
      WHERE n.node <> $2::text AND n.lease >= clock_timestamp() ORDER BY n.node
      """, [.text(revision), .text(identity.name)], "the other nodes can't be asked")
    return (0..<rows.count).map { row in
      Report(node: rows.text(row, 0), hasTried: rows.boolean(row, 1), problem: rows.text(row, 2))
    }
  }

  // MARK: A follower

  /// Declares that this node loads offered rules, so that owners wait for its reports while it is alive, and that others may ask for its folder.
  package func join() throws(StoreError) {
    try client.execute(
      """
      WITH gone AS (DELETE FROM ruled.loads WHERE node = $1::text AND revision <> '') \
      INSERT INTO ruled.loads (node, revision, incarnation, problem) VALUES ($1::text, '', $2::text, 'folder') \
      ON CONFLICT (node, revision) DO UPDATE SET incarnation = excluded.incarnation, problem = excluded.problem
      """, [.text(identity.name), .text(identity.incarnation)], "the node can't say that it loads rules")
  }

  /// The latest revision on which this node has not reported, with its content; nil if there is none.
  ///
  /// Only the last three offers and the revision in force, `live`, are considered.
  package func offered(live: String) throws(StoreError) -> (revision: String, content: [UInt8])? {
    let rows = try client.execute(
      """
      SELECT revision, content FROM ruled.revisions o WHERE (revision = $1::text \
      OR revision IN (SELECT revision FROM ruled.revisions ORDER BY time DESC LIMIT 3)) AND NOT EXISTS (SELECT 1 FROM ruled.loads l \
      WHERE l.node = $2::text AND l.incarnation = $3::text AND l.revision = o.revision) ORDER BY time DESC LIMIT 1
      """, [.text(live), .text(identity.name), .text(identity.incarnation)],
      "the revisions can't be read")
    return rows.count == 1 ? (rows.text(0, 0), rows.bytes(0, 1).map { Array($0) } ?? []) : nil
  }

  /// Reports that this node can load a revision, or with a non-empty `problem` why it can't.
  package func report(_ revision: String, problem: String) throws(StoreError) {
    try client.execute(
      """
      INSERT INTO ruled.loads (node, revision, incarnation, problem) VALUES ($1::text, $2::text, $3::text, $4::text) \
      ON CONFLICT (node, revision) DO UPDATE SET incarnation = excluded.incarnation, problem = excluded.problem
      """, [.text(identity.name), .text(revision), .text(identity.incarnation), .text(problem)],
      "the node can't report on a revision")
  }

  // MARK: A node's folder

  package struct FolderRequest: Sendable {
    let node: String
    let incarnation: String
    /// The request's name in the table, in place of a revision.
    let name: String
  }

  /// Asks a node to offer the rules in its folder; nil if it is not alive, or of a version that can't be asked.
  package func askForFolder(of node: String) throws(StoreError) -> FolderRequest? {
    let rows = try client.execute(
      """
      INSERT INTO ruled.loads (node, revision, incarnation, problem) \
      SELECT n.node, 'folder ' || gen_random_uuid(), n.incarnation, '' FROM ruled.nodes n \
      JOIN ruled.loads r ON r.node = n.node AND r.incarnation = n.incarnation AND r.revision = '' AND r.problem = 'folder' \
      WHERE n.node = $1::text AND n.lease >= clock_timestamp() RETURNING revision, incarnation
      """, [.text(node)], "node \(node) can't be asked for its rules folder")
    guard rows.count == 1 else { return nil }
    return FolderRequest(node: node, incarnation: rows.text(0, 1), name: rows.text(0, 0))
  }

  /// The answer to a request, nil as long as there is none, and whether the node is alive; an answer ends the request.
  package func answer(to request: FolderRequest) throws(StoreError) -> (text: String?, isAlive: Bool) {
    let rows = try client.execute(
      """
      WITH answered AS (DELETE FROM ruled.loads WHERE node = $1::text AND revision = $2::text AND problem <> '' RETURNING problem) \
      SELECT coalesce((SELECT problem FROM answered), ''), EXISTS (SELECT 1 FROM ruled.nodes \
      WHERE node = $1::text AND incarnation = $3::text AND lease >= clock_timestamp())
      """, [.text(request.node), .text(request.name), .text(request.incarnation)],
      "the answer of node \(request.node) can't be read")
    let text = rows.text(0, 0)
    return (text.isEmpty ? nil : text, rows.boolean(0, 1))
  }

  package func withdraw(_ request: FolderRequest) throws(StoreError) {
    try client.execute(
      "DELETE FROM ruled.loads WHERE node = $1::text AND revision = $2::text",
      [.text(request.node), .text(request.name)], "a request for a folder can't be withdrawn")
  }

  /// A request for this node's folder that it has not answered; nil if there is none.
  package func folderRequest() throws(StoreError) -> FolderRequest? {
    let rows = try client.execute(
      """
      SELECT revision FROM ruled.loads WHERE node = $1::text AND incarnation = $2::text AND revision LIKE 'folder %' AND problem = '' LIMIT 1
      """, [.text(identity.name), .text(identity.incarnation)], "requests to the node can't be read")
    guard rows.count == 1 else { return nil }
    return FolderRequest(node: identity.name, incarnation: identity.incarnation, name: rows.text(0, 0))
  }

  /// Answers a request for this node's folder, once its rules are offered or can't be.
  package func answer(_ request: FolderRequest, _ text: String) throws(StoreError) {
    try client.execute(
      "UPDATE ruled.loads SET problem = $3::text WHERE node = $1::text AND revision = $2::text",
      [.text(request.node), .text(request.name), .text(text)], "the node can't answer")
  }
}
