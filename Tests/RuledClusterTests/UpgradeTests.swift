import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// Tables that get a later format while nodes of two versions are there.
  @Suite struct UpgradeTests {
    /// Settings of a later version of the daemon, which also works with tables of the format `oldest`.
    private static func later(_ settings: ClusterSettings, oldest: Int64 = ClusterSchema.current.newest)
      -> ClusterSettings
    {
      var later = settings
      later.schema = ClusterSchema(
        upgrades: ClusterSchema.current.upgrades + ["ALTER TABLE ruled.nodes ADD mood text NOT NULL DEFAULT 'calm';"],
        oldest: oldest)
      return later
    }

    private static func run(_ script: String, _ settings: ClusterSettings) throws {
      try PostgresConnection(settings.url, seconds: 5).run(script: script, milliseconds: 5000)
    }

    /// Puts a live node there that says nothing of what it reads, as those of earlier versions.
    private static func addEarlierNode(_ settings: ClusterSettings) throws {
      try run(
        "INSERT INTO ruled.nodes (node, incarnation, address, lease, sequence) "
          + "VALUES ('old', 'x', '', clock_timestamp() + interval '1 hour', 0)", settings)
    }

    private static func format(_ settings: ClusterSettings) throws -> Int64? {
      let client = LogClient(later(settings))
      _ = try client.readHead()
      return client.cluster?.format
    }

    @Test func `tables keep their format until each live node reads the later one, and the owner goes on meanwhile`()
      throws
    {
      let settings = try Cluster.settings()
      _ = try LogClient(settings).readHead()
      let (before, after) = (ClusterSchema.current.newest, ClusterSchema.current.newest + 1)
      let earlier = LogClient(settings)
      _ = try earlier.readHead()
      try Self.addEarlierNode(settings)
      let later = Self.later(settings)
      let (node, client) = (Cluster.node("new"), LogClient(later))
      let writer = LogWriter(later, node: node)
      let isOwner = try writer.takeOver(from: client.readHead())
      try #require(isOwner)
      #expect(try client.renewLease(of: node, at: 0) == false)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .waits(for: "old"))
      try Cluster.append(["1"], by: writer)
      #expect(try Self.format(settings) == before)
      // After an outage of the database the leases of all are over, and the other node may come back.
      try Self.run(
        "UPDATE ruled.nodes SET lease = clock_timestamp() - interval '30 seconds' WHERE node = 'old'", settings)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .waits(for: "old"))
      // Nor while the other node is drained for its upgrade: to give the log up, it ends one incarnation and begins another.
      try Self.run("UPDATE ruled.nodes SET drained = true, lease = to_timestamp(0) WHERE node = 'old'", settings)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .waits(for: "old"))
      // It is replaced by one that says that it reads the later format.
      try Self.run(
        "UPDATE ruled.nodes SET incarnation = 'y', lease = clock_timestamp() + interval '1 hour' WHERE node = 'old'",
        settings)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .waits(for: "old"))
      try Self.run("INSERT INTO ruled.readers VALUES ('old', 'y', \(after))", settings)
      #expect(try client.reviewFormat(for: node, isOwner: false) == .waits(for: ""))
      #expect(try Self.format(settings) == before)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .upgraded)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .isNewest)
      #expect(try Self.format(settings) == after)
      try Cluster.append(["2"], by: writer)
      // A node that does not read the format says what to do, on an open connection and on a new one.
      do {
        _ = try earlier.reviewFormat(for: Cluster.node("a"), isOwner: false)
        Issue.record("a later format is not read")
      } catch {
        #expect(error.code == .newerFormat)
        #expect("\(error)".contains("install that version here"))
      }
      #expect(Cluster.code { _ = try LogClient(settings).readHead() } == .refused)
      #expect(try Cluster.texts(later) == ["1", "2"])
    }

    /// Settings of the version before, whose tables list further databases and what the owner has lent.
    private static func before(_ settings: ClusterSettings) -> ClusterSettings {
      var before = settings
      before.schema = ClusterSchema(
        upgrades: Array(ClusterSchema.current.upgrades.prefix(Int(ClusterSchema.firstWithOneDatabase) - 1)), oldest: 5)
      return before
    }

    @Test func `tables of the version before lose the list of databases and the loans, and the log goes on`() throws {
      let settings = try Cluster.settings()
      try Cluster.append(["1"], by: try Cluster.owner(Self.before(settings)))
      try Self.run("INSERT INTO ruled.nodes VALUES ('old', 'x', '', to_timestamp(0), 0)", settings)
      let (node, client) = (Cluster.node("b"), LogClient(settings))
      let writer = LogWriter(settings, node: node)
      #expect(try writer.takeOver(from: client.readHead()))
      #expect(try client.renewLease(of: node, at: 1) == false)
      try Cluster.append(["2"], by: writer)
      #expect(try client.reviewFormat(for: node, isOwner: true) == .upgraded)
      try Cluster.append(["3"], by: writer)
      #expect(try client.renewLease(of: node, at: 3) == false)
      #expect(try Cluster.texts(settings) == ["1", "2", "3"])
      let left = PostgresStatement(
        """
        SELECT to_regclass('ruled.databases') IS NOT NULL OR EXISTS (SELECT FROM pg_attribute \
        WHERE attrelid = 'ruled.nodes'::regclass AND attname IN ('lent', 'moves'))
        """)
      #expect(try !PostgresConnection(settings.url, seconds: 5).execute(left, milliseconds: 5000).boolean(0, 0))
    }

    @Test func `a log with a part in other databases is refused, also where an owner of the version before made it so`()
      throws
    {
      let settings = try Cluster.settings()
      let writer = try Cluster.owner(Self.before(settings))
      try Cluster.append(["1"], by: writer)
      let (reader, successor) = (LogClient(settings), LogWriter(settings, node: Cluster.node("b")))
      // Both have a connection from before the other databases were listed.
      #expect(try successor.takeOver(from: reader.readHead()))
      try Self.run("INSERT INTO ruled.databases VALUES ('1', 'spare at db4'), ('2', 'spare at db5')", settings)
      let attempts = [
        { _ = try LogClient(settings).readHead() }, { _ = try successor.takeOver(from: reader.readHead()) },
        { _ = try reader.reviewFormat(for: Cluster.node("b"), isOwner: true) },
      ]
      for attempt in attempts {
        let error = #expect(throws: StoreError.self) { try attempt() }
        #expect(error?.code == .refused)
        #expect("\(error, default: "")".contains("in other databases (spare at db4, spare at db5)"))
        #expect("\(error, default: "")".contains("Upgrading"))
      }
      #expect(Cluster.code { try Cluster.append(["2"], by: successor) } == .fenced)
      try Self.run("DELETE FROM ruled.databases", settings)
      #expect(try successor.takeOver(from: reader.readHead()))
      #expect(try Cluster.texts(settings) == ["1"])
    }

    @Test func `a version that does not work with the tables' format names the nodes that hold it up`() throws {
      let settings = try Cluster.settings()
      _ = try LogClient(settings).readHead()
      try Self.addEarlierNode(settings)
      let later = Self.later(settings, oldest: ClusterSchema.current.newest + 1)
      do {
        _ = try LogClient(later).readHead()
        Issue.record("a live node does not read the later format")
      } catch {
        #expect("\(error)".contains("old") && "\(error)".contains("end them"))
      }
      _ = try LogClient(settings).readHead()
      // A node that was ended in order has given its lease back.
      try Self.run("UPDATE ruled.nodes SET lease = to_timestamp(0)", settings)
      let client = LogClient(later)
      _ = try client.readHead()
      #expect(client.cluster?.format == ClusterSchema.current.newest + 1)
    }

    @Test
    func `nodes of two versions follow each other; the last of the earlier version makes way for the later format`()
      throws
    {
      var settings = try Cluster.settings()
      settings.lease = 1_000
      let told = Mutex<[String]>([])
      let first = try Node("a", settings)
      let store = try first.own()
      try store.commit(Cluster.writes("1"), durable: true)
      let second = try Node("b", Self.later(settings))
      let taken = Mutex<ClusterStore?>(nil)
      let follower = try Thread(name: "follow") {
        let store = try? second.own()
        second.node.serve { event in if case .upgrade(let sentence) = event { told.withLock { $0.append(sentence) } } }
        taken.withLock { $0 = store }
      }
      #expect(eventually { second.texts == ["1"] })
      #expect(try Self.format(settings) == ClusterSchema.current.newest)
      first.end()
      follower.join()
      let next = try #require(taken.withLock { $0 })
      #expect(eventually { told.withLock { $0.last?.hasSuffix("now") == true } })
      try next.commit(Cluster.writes("2"), durable: true)
      #expect(try Self.format(settings) == ClusterSchema.current.newest + 1)
      #expect(second.texts == ["1", "2"])
      second.end()
      try next.close()
      try store.close()
    }
  }
}
