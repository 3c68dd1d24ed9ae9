import RuledCore
import RuledStore
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// Stores of single daemons on their way into a cluster, and out of one.
  @Suite struct StoreImportTests {
    /// A closed store of a single daemon with so many commits; gives what it has.
    private static func single(_ count: Int, in folder: TemporaryFolder, bytes: Int = 10) throws -> [String] {
      let store = try RocksStore(path: folder("single"))
      let texts = (0..<count).map { "\($0)" + String(repeating: "x", count: bytes) }
      for text in texts { try store.commit(Cluster.writes(text), durable: false) }
      try store.close()
      return texts.sorted()
    }

    private static func run(_ settings: ClusterSettings, _ folder: TemporaryFolder) throws -> StoreImport.Report {
      let store = try RocksStore(path: folder("single"))
      let report = Result { try StoreImport(settings, node: Cluster.node("a")).run(from: store) { _ in } }
      try store.close()
      return try report.get()
    }

    @Test func `nodes have the data of the single daemon`() throws {
      let (settings, folder) = (try Cluster.settings(), TemporaryFolder())
      let texts = try Self.single(300, in: folder, bytes: 10_000)
      let report = try Self.run(settings, folder)
      #expect(report.entries == 300)
      #expect(report.bytes > 3_000_000)
      #expect(try LogClient(settings).readHead().position.sequence > 1)
      let node = try Node("b", settings)
      let store = try node.own()
      #expect(node.texts == texts)
      try store.commit(Cluster.writes("more"), durable: true)
      #expect(Cluster.code { _ = try Self.run(settings, folder) } == .refused)
      node.end()
      try store.close()
    }

    @Test func `an import that breaks leaves the log as empty as it was`() throws {
      let (settings, folder) = (try Cluster.settings(), TemporaryFolder())
      _ = try Self.single(1, in: folder)
      #expect(throws: (any Error).self) {
        try LogClient.fillEmptyLog(settings, for: Cluster.node("a")) { (append) throws(StoreError) in
          try append(Cluster.batch("one"))
          throw StoreError(.inputOutput, "the store can't be read")
        }
      }
      #expect(try Cluster.texts(settings).isEmpty)
      #expect(try Self.run(settings, folder).entries == 1)
    }

    @Test func `the store of a single daemon joins no cluster, and stays as it is`() throws {
      let (settings, folder) = (try Cluster.settings(), TemporaryFolder())
      _ = try Self.single(3, in: folder)
      let store = try RocksStore(path: folder("single"))
      #expect(Cluster.code { _ = try PlayedStore(store) } == .refused)
      let place = SnapshotRig()
      let start = SnapshotStart(
        settings, snapshots: place.settings, identity: Cluster.node("a"), isInterrupted: { false }
      ) { _, _ in }
      #expect(Cluster.code { _ = try start.need(of: store) } == .refused)
      try store.close()
    }

    @Test func `a node's store that a single daemon went on with joins no cluster again`() throws {
      let settings = try Cluster.settings()
      let node = try Node("a", settings)
      try node.own().commit(Cluster.writes("one"), durable: true)
      node.end()
      let store = node.played.store
      #expect(
        Cluster.code { _ = try StoreImport(settings, node: Cluster.node("b")).run(from: store) { _ in } } == .refused)
      #expect(try PlayedStore.leaveCluster(store))
      #expect(try !PlayedStore.leaveCluster(store))
      #expect(Cluster.code { _ = try PlayedStore(store) } == .refused)
      try store.close()
    }

    @Test func `a store that has joined and played nothing back is a node's`() throws {
      let (settings, folder) = (try Cluster.settings(), TemporaryFolder())
      let store = try RocksStore(path: folder("store"))
      let client = LogClient(settings)
      _ = try client.readHead()
      try PlayedStore(store).join(#require(client.cluster).id)
      let again = try PlayedStore(store)
      #expect(again.position == .start)
      #expect(Cluster.code { try again.join("another") } == .diverged)
      try store.close()
    }
  }
}
