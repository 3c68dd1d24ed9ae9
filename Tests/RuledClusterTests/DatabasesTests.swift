import RuledCore
import RuledStore
import Testing

@testable import RuledCluster

extension Cluster {
  /// A log in several databases.
  @Suite struct DatabasesTests {
    /// The number of batches in each database.
    private static func counts(_ settings: ClusterSettings) throws -> [Int] {
      try ([settings.url] + settings.further).map { url in
        let statement = PostgresStatement("SELECT count(*) FROM ruled.commits")
        return Int(try PostgresConnection(url, seconds: 5).execute(statement, milliseconds: 5000).integer(0, 0))
      }
    }

    /// The same settings with only some of the further databases.
    private static func settings(_ settings: ClusterSettings, further: [String]) -> ClusterSettings {
      var others = settings
      others.further = further
      return others
    }

    /// The message of the error that `body` throws.
    private static func message(_ body: () throws -> Void) -> String {
      do {
        try body()
        return ""
      } catch { return "\(error)" }
    }

    @Test func `batches take turns, and are read in their order`() throws {
      let settings = try Cluster.settings(databases: 3)
      let texts = (0..<31).map { "\($0)" }
      try Cluster.append(texts, by: try Cluster.owner(settings))
      #expect(try Self.counts(settings) == [10, 11, 10])
      #expect(try Cluster.texts(settings) == texts)
      // The next owner goes on where the last one was.
      try Cluster.append(["b"], by: try Cluster.owner(settings, "b"))
      #expect(try Cluster.texts(settings) == texts + ["b"])
      let overview = try ClusterAdministration(settings).overview()
      #expect(overview.sequence == 32)
      #expect(overview.further.map(\.sequence) == [31, 32])
      #expect(overview.bytes == overview.database.bytes + overview.further[0].bytes + overview.further[1].bytes)
    }

    @Test func `a database joins a log that has batches`() throws {
      let settings = try Cluster.settings(databases: 2)
      let before = Self.settings(settings, further: [])
      try Cluster.append((0..<40).map { "\($0)" }, by: try Cluster.owner(before))
      try Cluster.append((40..<50).map { "\($0)" }, by: try Cluster.owner(settings))
      #expect(try Self.counts(settings) == [45, 5])
      #expect(try Cluster.texts(settings) == (0..<50).map { "\($0)" })
      // The order of the further databases is each node's own.
      let third = try Cluster.settings(databases: 1).url
      let more = Self.settings(settings, further: [third] + settings.further)
      try Cluster.append((50..<56).map { "\($0)" }, by: try Cluster.owner(more))
      #expect(try Cluster.texts(more) == (0..<56).map { "\($0)" })
      #expect(try Cluster.texts(Self.settings(more, further: more.further.reversed())).count == 56)
    }

    @Test func `a node that does not name a database of the log is told which one`() throws {
      let settings = try Cluster.settings(databases: 2)
      let lacking = Self.settings(settings, further: [])
      let reader = LogClient(lacking)
      _ = try reader.readHead()
      try Cluster.append(["1", "2", "3", "4"], by: try Cluster.owner(settings))
      let name = try #require(settings.further[0].split(separator: "?").first?.split(separator: "/").last)
      for client in [LogClient(lacking), reader] {
        let message = Self.message { _ = try client.read(after: .start, limit: 10) { _, _ in } }
        #expect(message.contains("database \(name), which 'databases'"), "\(message)")
      }
      #expect(Cluster.code { _ = try LogClient(lacking).readHead() } == .refused)
    }

    @Test func `a node that does not know of a database does not take over from an owner that wrote there`() throws {
      let settings = try Cluster.settings(databases: 2)
      let lacking = Self.settings(settings, further: [])
      // Both of its connections are older than what the other owner does.
      let (writer, client) = (try Cluster.owner(lacking), LogClient(lacking))
      try Cluster.append(["1", "2"], by: writer)
      _ = try client.readHead()
      try Cluster.append(["3"], by: try Cluster.owner(settings, "b"))
      #expect(try Self.counts(settings) == [2, 1])
      #expect(try client.readHead().position.sequence == 2)
      #expect(Cluster.code { _ = try writer.takeOver(from: client.readHead()) } == .refused)
      #expect(Cluster.code { try Cluster.append(["x"], by: writer) } == .fenced)
      #expect(try Cluster.texts(settings) == ["1", "2", "3"])
    }

    @Test func `an owner that was replaced lists no database`() throws {
      let settings = try Cluster.settings(databases: 2)
      let lacking = Self.settings(settings, further: [])
      let replaced = try #require(Cluster.owner(lacking).epoch)
      let epoch = try #require(Cluster.owner(lacking, "b").epoch)
      let memberships = Memberships()
      let first = LogDatabase(settings.url, settings, counts: nil) { _ in }
      let further = LogDatabase(settings.further[0], settings, counts: nil) { (connection) throws(PostgresError) in
        try memberships.prepare(0, connection)
      }
      try memberships.reload(first)
      _ = try further.end()
      #expect(try !memberships.register(in: first, epoch: replaced))
      #expect(try Cluster.owner(lacking).end == .start)
      #expect(try memberships.register(in: first, epoch: epoch + 1))
      #expect(Cluster.code { _ = try LogClient(lacking).readHead() } == .refused)
    }

    @Test func `only a database of the cluster's own takes a part of its log`() throws {
      let settings = try Cluster.settings(databases: 2)
      let other = try Cluster.settings(databases: 2)
      for settings in [settings, other] { _ = try LogClient(settings).readHead() }
      func message(_ further: [String]) -> String {
        Self.message { _ = try LogClient(Self.settings(settings, further: further)).readHead() }
      }
      #expect(message([settings.url]).contains("the database of a cluster, this one's or another's"))
      #expect(message([other.url]).contains("the database of a cluster, this one's or another's"))
      #expect(message(other.further).contains("has a part of the log of the cluster"))
      #expect(message(settings.further + ["\(settings.further[0])&application_name=x"]).contains("lead to the same"))
    }

    @Test func `tables of an earlier format get further databases after their upgrade`() throws {
      let settings = try Cluster.settings(databases: 2)
      var earlier = settings
      let formats = ClusterSchema.current.upgrades.prefix(Int(ClusterSchema.firstWithDatabases) - 1)
      earlier.schema = ClusterSchema(upgrades: Array(formats), oldest: ClusterSchema.current.oldest)
      try Cluster.append(["1", "2", "3"], by: try Cluster.owner(earlier))
      let (node, client) = (Cluster.node("b"), LogClient(settings))
      #expect(try client.renewLease(of: node, at: 0) != nil)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .upgraded)
      try Cluster.append(["4", "5", "6"], by: try Cluster.owner(settings, "b"))
      #expect(try Self.counts(settings) == [5, 1])
      #expect(try Cluster.texts(settings) == ["1", "2", "3", "4", "5", "6"])
    }

    @Test func `an owner that was replaced while it took over does not come back`() throws {
      let (proxy, settings) = (try DatabaseProxy(to: Cluster.server.folder.path), try Cluster.settings(databases: 2))
      var late = settings
      late.further = Cluster.through(proxy, settings).further
      let (first, client) = (LogWriter(late, node: Cluster.node("a")), LogClient(late))
      let head = try client.readHead()
      // Its connection is there, so that the next statement is the one that gives it the further database.
      #expect(try first.takeOver(from: head))
      let again = try client.readHead()
      proxy.arm(.statementLate)
      #expect(Cluster.code { _ = try first.takeOver(from: again) } == .unreachable)
      let second = try Cluster.owner(settings, "b")
      try Cluster.append(["1", "2"], by: second)
      proxy.deliver()
      try Cluster.append(["3", "4"], by: second)
      #expect(Cluster.code { try Cluster.append(["x"], by: first) } == .fenced)
      #expect(try Cluster.texts(settings) == ["1", "2", "3", "4"])
    }

    @Test func `what an owner sent is open until its successor has been to all databases`() throws {
      let (proxy, settings) = (try DatabaseProxy(to: Cluster.server.folder.path), try Cluster.settings(databases: 2))
      let other = try DatabaseProxy(to: Cluster.server.folder.path)
      var (mine, theirs) = (settings, settings)
      mine.further = Cluster.through(proxy, settings).further
      theirs.further = Cluster.through(other, settings).further
      // The successor's connections are there, so that the next statement is the one that gives it the further database.
      let successor = LogWriter(theirs, node: Cluster.node("b"))
      #expect(try successor.takeOver(from: LogClient(settings).readHead()))
      let writer = try Cluster.owner(mine)
      try Cluster.append(["1", "2"], by: writer)
      // The successor has the cluster's own database, and is cut off from the further one.
      other.arm(.statementLost)
      #expect(Cluster.code { _ = try successor.takeOver(from: LogClient(settings).readHead()) } == .unreachable)
      proxy.arm(.statementLate)
      let error = #expect(throws: StoreError.self) { try Cluster.append(["3"], by: writer) }
      #expect(error?.code == .fenced)
      #expect(error?.isOutcomeUnknown == true, "the batch is still on its way")
      proxy.deliver()
      #expect(try successor.takeOver(from: LogClient(settings).readHead()))
      #expect(successor.end?.sequence == 3)
      try Cluster.append(["4", "5"], by: successor)
      #expect(try Cluster.texts(settings) == ["1", "2", "3", "4", "5"])
    }

    @Test func `what an owner sent is settled once its successor has been to all databases`() throws {
      let (proxy, settings) = (try DatabaseProxy(to: Cluster.server.folder.path), try Cluster.settings(databases: 2))
      let writer = try Cluster.owner(Cluster.through(proxy, settings))
      try Cluster.append(["1", "2"], by: writer)
      let successor = try Cluster.owner(settings, "b")
      proxy.arm(.statementLost)
      let error = #expect(throws: StoreError.self) { try Cluster.append(["lost"], by: writer) }
      #expect(error?.code == .fenced)
      #expect(error?.isOutcomeUnknown == false)
      try Cluster.append(["3"], by: successor)
      #expect(try Cluster.texts(settings) == ["1", "2", "3"])
    }

    @Test func `a database that was restored to an earlier moment is noticed`() throws {
      let settings = try Cluster.settings(databases: 2)
      let node = try Node("a", settings)
      let store = try node.own()
      for number in 0..<5 { try store.commit(Cluster.writes("\(number)"), durable: true) }
      try PostgresConnection(settings.further[0], seconds: 5).run(
        script: """
          DELETE FROM ruled.commits WHERE sequence > 1;
          UPDATE ruled.logs SET sequence = 1, digest = (SELECT digest FROM ruled.commits WHERE sequence = 1);
          """, milliseconds: 5000)
      #expect(Cluster.code { _ = try node.node.review() } == .diverged)
      let message = Self.message { _ = try Cluster.texts(settings) }
      #expect(message.contains("one of its databases was restored to an earlier moment: it goes on at 4"), "\(message)")
      #expect(message.contains("this node has what comes before 3"), "\(message)")
      node.end()
      try store.close()
      // As docs/cluster.md says.
      for url in [settings.url] + settings.further {
        try PostgresConnection(url, seconds: 5).run(
          script: """
            DELETE FROM ruled.commits WHERE sequence > 3;
            UPDATE ruled.logs SET (sequence, digest) = (SELECT sequence, digest FROM ruled.commits ORDER BY sequence DESC LIMIT 1)
              WHERE sequence > 3;
            """, milliseconds: 5000)
      }
      try Cluster.append(["a", "b", "c"], by: try Cluster.owner(settings, "b"))
      #expect(try Cluster.texts(settings) == ["0", "1", "a", "b", "c"])
    }
  }
}
