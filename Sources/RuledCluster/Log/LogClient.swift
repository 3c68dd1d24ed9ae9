import RuledCore
import RuledStore

/// Reads and writes a log of commits in one database or several; one thread at a time uses it.
///
/// The first database is the cluster's: it also says who owns the log, and has the nodes, the rules and the list of snapshots. Each batch is
/// in one of the databases. After an error of a write its outcome is unknown until `raiseEpoch` finds it out.
final class LogClient {
  let settings: ClusterSettings
  /// The databases of the log, the cluster's first.
  private let databases: [LogDatabase]
  private let memberships: Memberships

  /// A client without connections, which are counted in `counts`.
  init(_ settings: ClusterSettings, counts: ClusterCounts? = nil) {
    self.settings = settings
    let memberships = Memberships()
    self.memberships = memberships
    let first = LogDatabase(settings.url, settings, counts: counts) { (connection) throws(PostgresError) in
      let found = try settings.schema.prepare(connection, partitionSize: settings.partitionSize)
      try memberships.note(found, connection)
    }
    databases =
      [first]
      + settings.further.enumerated().map { index, url in
        LogDatabase(url, settings, counts: counts) { (connection) throws(PostgresError) in
          try memberships.prepare(index, connection)
        }
      }
  }

  /// The cluster's database.
  private var first: LogDatabase { databases[0] }

  /// The cluster of the database; nil before the first connection.
  var cluster: ClusterSchema.Cluster? { memberships.cluster }

  /// Notes the format of the tables that was read.
  func noteFormat(_ format: Int64) { memberships.cluster?.format = format }

  /// The connection to the cluster's database, opened if there is none.
  func connection() throws(StoreError) -> PostgresConnection { try first.connection() }

  /// Closes all connections.
  func disconnect() { databases.forEach { $0.disconnect() } }

  /// Executes a statement in the cluster's database; an error begins with what was attempted.
  func execute(
    _ statement: PostgresStatement, _ values: [PostgresValue], _ attempt: String, milliseconds: Int? = nil
  ) throws(StoreError) -> PostgresRows {
    try first.execute(statement, values, attempt, milliseconds: milliseconds)
  }

  /// Executes a command in the cluster's database, such as the end of a transaction, and checks that the standbys have its commit.
  func run(_ command: String) throws(StoreError) {
    try first.run(command, "the database did not execute \(command)")
    try first.checkStandbys(have: "it")
  }

  /// Opens the connections that are not open; returns all databases of the log, the cluster's first.
  ///
  /// Throws `refused` if the settings lack a database with a part of the log.
  func allDatabases() throws(StoreError) -> [LogDatabase] {
    guard databases.count > 1 || memberships.hasRegistered else { return databases }
    for database in databases { _ = try database.connection() }
    try memberships.check()
    return databases
  }

  // MARK: Reading

  private static let headStatement = PostgresStatement(
    kept: "head",
    """
    SELECT l.epoch, l.sequence, l.digest, l.owner, l.incarnation, n.address, n.lease IS NULL OR n.lease < clock_timestamp(), \
    n.listen, n.lease IS NULL OR n.lease = to_timestamp(0) \
    FROM ruled.logs l LEFT JOIN ruled.nodes n ON n.node = l.owner AND n.incarnation = l.incarnation WHERE l.log = $1::int8
    """)

  /// Reads the end of the log, and who owns it.
  func readHead() throws(StoreError) -> LogHead {
    let head = try readFirstHead()
    var ends = [head.position]
    for database in try allDatabases().dropFirst() { ends.append(try database.end()) }
    return head.ending(at: ends.latest)
  }

  /// As `readHead`, with the end of what the cluster's database has of the log.
  func readFirstHead() throws(StoreError) -> LogHead {
    let rows = try execute(Self.headStatement, [.integer(LogDatabase.log)], "the end of the log can't be read")
    guard rows.count == 1 else { throw LogDatabase.noLog }
    let owner = rows.text(0, 3)
    return LogHead(
      epoch: rows.integer(0, 0), position: rows.position(0, 1),
      owner: owner.isEmpty
        ? nil
        : NodeIdentity(name: owner, incarnation: rows.text(0, 4), address: rows.text(0, 5), listen: rows.text(0, 7)),
      isLeaseOver: rows.boolean(0, 6), isLeaseReleased: rows.boolean(0, 8))
  }

  /// Calls `body` with each batch after `position`, at most `limit`, and the position after it; checks that each follows the one before.
  ///
  /// Returns how many there were. The bytes are valid only during the call of `body`.
  func read(
    after position: LogPosition, limit: Int, _ body: (ByteView, LogPosition) throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    var count = 0
    func next(upTo end: Int64) throws(StoreError) -> Int64? {
      try readOnce(after: position, upTo: end, limit: limit) { (batch, next) throws(StoreError) in
        try body(batch, next)
        count += 1
      }
    }
    // With several databases each has a part of the next batches, and what one has far behind them is of no use yet.
    let isOne = databases.count == 1
    var later = try next(upTo: isOne ? .max : position.sequence + Int64(limit))
    if count == 0, !isOne {
      if later == nil { later = try next(upTo: .max) }
      // One database may have been asked before the batch was there, and another one after its successor was: now both are.
      if count == 0, later != nil { later = try next(upTo: .max) }
    }
    guard count == 0, let later else { return count }
    try memberships.reload(first)
    _ = try allDatabases()
    let cause = databases.count > 1 ? ", or one of its databases was restored to an earlier moment" : ""
    throw StoreError(
      .behind,
      "the log was cut\(cause): it goes on at \(later), this node has what comes before \(position.sequence + 1); start it again, so that it "
        + "starts from a snapshot")
  }

  /// As `read`, from what all databases have now; returns the sequence of a batch that does not follow because one before it is missing.
  private func readOnce(
    after position: LogPosition, upTo end: Int64, limit: Int, _ body: (ByteView, LogPosition) throws(StoreError) -> Void
  ) throws(StoreError) -> Int64? {
    var parts: [LogRows] = []
    for database in try allDatabases() {
      parts.append(try database.batches(after: position.sequence, upTo: end, limit: limit))
    }
    var last = position
    while let index = parts.firstIndex(where: { $0.sequence == last.sequence + 1 }) {
      guard let next = parts[index].position(following: last) else {
        throw StoreError(
          .diverged,
          "batch \(last.sequence + 1) of the log does not follow what this node has played back: the database has lost commits, was "
            + "restored, or was changed by hand; to take what it has for the truth, remove this node's store")
      }
      try body(parts[index].batch, next)
      last = next
      parts[index].advance()
    }
    return parts.compactMap(\.sequence).min()
  }

  /// The digest of a batch; nil if the log does not have it, or no longer.
  func digest(of sequence: Int64) throws(StoreError) -> [UInt8]? {
    for database in try allDatabases() { if let digest = try database.digest(of: sequence).digest { return digest } }
    return nil
  }

  /// Whether the log has what follows a position, or ends there: false if that was cut.
  func continues(after position: LogPosition) throws(StoreError) -> Bool {
    if try readHead().position.sequence <= position.sequence { return true }
    return try digest(of: position.sequence + 1) != nil
  }

  // MARK: Owning

  private static let takeOverStatement = PostgresStatement(
    """
    UPDATE ruled.logs SET epoch = epoch + 1, owner = $3::text, incarnation = $4::text \
    WHERE log = $1::int8 AND epoch = $2::int8 AND NOT EXISTS (SELECT 1 FROM ruled.nodes WHERE node = $3::text AND drained) \
    RETURNING epoch, sequence, digest
    """)

  /// Makes `node` the owner unless another node became it since `head` was read: then the result is nil.
  ///
  /// A drained node does not become the owner.
  func takeOver(for node: NodeIdentity, from head: LogHead) throws(StoreError) -> Ownership? {
    let values: [PostgresValue] = [
      .integer(LogDatabase.log), .integer(head.epoch), .text(node.name), .text(node.incarnation),
    ]
    return try raise(for: node, Self.takeOverStatement, values)
  }

  private static let raiseStatement = PostgresStatement(
    """
    UPDATE ruled.logs SET epoch = epoch + 1 WHERE log = $1::int8 AND owner = $2::text AND incarnation = $3::text \
    RETURNING epoch, sequence, digest
    """)

  /// Raises the epoch of the owner `node`, and returns it with the end of the log; nil if another node owns the log by now.
  ///
  /// After a missing answer this settles the outcome: what the node sent earlier has the old epoch and can't take effect any more. What had
  /// taken effect is as durable as this statement, for which the standbys have answered.
  func raiseEpoch(for node: NodeIdentity) throws(StoreError) -> Ownership? {
    try raise(
      for: node, Self.raiseStatement, [.integer(LogDatabase.log), .text(node.name), .text(node.incarnation)])
  }

  /// Gives `node` a new epoch by a statement in the cluster's database, then in each further one; nil if another node owns the log.
  ///
  /// The cluster's database decides who owns the log. In a further one the epoch only rises to what that has given, so a node that was
  /// replaced between the two can't take the further one back. The end of the log is known when the last database has the new epoch: from
  /// then on no earlier owner can write anywhere.
  private func raise(
    for node: NodeIdentity, _ statement: PostgresStatement, _ values: [PostgresValue]
  ) throws(StoreError) -> Ownership? {
    guard let raised = try first.ownership(statement, values) else { return nil }
    // An earlier owner may have listed a database that this node does not know. From now on none can.
    try memberships.reload(first)
    let all = try allDatabases()
    guard all.count > 1, memberships.canRegister else { return Ownership(epoch: raised.epoch, ends: [raised.end]) }
    var ends = [raised.end]
    for database in all.dropFirst() {
      guard let end = try database.follow(node, epoch: raised.epoch) else { return nil }
      ends.append(end)
    }
    guard try memberships.register(in: first, epoch: raised.epoch) else { return nil }
    return Ownership(epoch: raised.epoch, ends: ends)
  }

  /// Whether the log has a batch that ends at `next`, which a node sent under `ownership` before another node took the log over.
  ///
  /// False if it never will; nil if that is still open.
  func outcome(of next: LogPosition, sentBy ownership: Ownership) throws(StoreError) -> Bool? {
    let found = try databases[ownership.database(of: next.sequence)].digest(of: next.sequence)
    if found.digest == next.digest { return true }
    // Until the new owner has been to that database, a statement that is on its way may still take effect there.
    return found.epoch > ownership.epoch ? false : nil
  }

  // MARK: Appending

  /// Appends a batch at the end that `ownership` states, in one statement; false if another node owns the log.
  ///
  /// After an error it is unknown what the database did or will do, until `raiseEpoch` finds it out.
  func append(_ batch: ByteView, from ownership: Ownership, to next: LogPosition, milliseconds: Int) throws(StoreError)
    -> Bool
  {
    let index = ownership.database(of: next.sequence)
    let database = databases[index]
    try database.makePartitions(for: next.sequence, size: try partitionSize())
    return try database.append(
      batch, epoch: ownership.epoch, after: ownership.ends[index], previous: ownership.end, next: next,
      milliseconds: milliseconds)
  }

  // MARK: Cutting

  /// Drops the partitions of the log whose batches all come before `sequence`; returns how many.
  func dropPartitions(before sequence: Int64) throws(StoreError) -> Int {
    let size = try partitionSize()
    var count = 0
    for database in try allDatabases() { count += try database.dropPartitions(before: sequence, size: size) }
    return count
  }

  /// The number of batches in a partition of the log.
  private func partitionSize() throws(StoreError) -> Int64 {
    if cluster == nil { _ = try first.connection() }
    guard let cluster else { throw LogDatabase.noLog }
    return cluster.partitionSize
  }

  // MARK: Looking

  /// The databases as they are now, the cluster's first; a further one that can't be asked has a problem that says why.
  func overviewOfDatabases() throws(StoreError) -> [ClusterOverview.Database] {
    var found = [try first.overview()]
    for database in databases.dropFirst() {
      do throws(StoreError) { found.append(try database.overview()) } catch {
        found.append(ClusterOverview.Database(problem: "\(error)"))
      }
    }
    return found
  }

  /// What a database could lose with its current settings; nil if none loses anything that was acknowledged.
  func durabilityProblem() throws(StoreError) -> String? {
    for database in try allDatabases() {
      if let problem = database.problem(of: try database.durability()) { return problem }
    }
    return nil
  }
}
