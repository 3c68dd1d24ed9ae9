import Glibc
import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// A node with its store, its lease and what it follows.
  final class Node: Sendable {
    let folder: TemporaryFolder
    let played: PlayedStore
    let node: ClusterNode
    private let lease: Thread
    let losses = Mutex<[StoreError]>([])

    init(_ name: String, _ settings: ClusterSettings, folder: TemporaryFolder = TemporaryFolder()) throws {
      self.folder = folder
      played = try PlayedStore(RocksStore(path: folder("store")))
      let node = ClusterNode(settings, identity: Cluster.node(name), played: played)
      self.node = node
      lease = try Thread(name: "lease") { node.keepLease() }
    }

    /// Waits until the node owns the log.
    func own() throws -> ClusterStore {
      let writer = try #require(try node.awaitOwnership())
      return ClusterStore(played, writer: writer) { [weak self] error in self?.losses.withLock { $0.append(error) } }
    }

    /// Ends the lease's thread, which gives the lease back.
    func end() {
      node.stop()
      lease.join()
    }

    /// What is stored, as texts under the keys that `Cluster.writes` makes.
    var texts: [String] {
      var texts: [String] = []
      try? played.store.scan(prefix: Array("k".utf8)) { _, value in
        texts.append(String(decoding: value, as: UTF8.self))
        return true
      }
      return texts.sorted()
    }
  }

  /// Nodes that follow and take over.
  @Suite struct NodeTests {
    @Test func `a standby has the owner's commits, and takes over when its lease is given back`() throws {
      let settings = try Cluster.settings()
      let first = try Node("a", settings)
      let store = try first.own()
      let second = try Node("b", settings)
      let taken = Mutex<ClusterStore?>(nil)
      let follower = try Thread(name: "follow") {
        let store = try? second.own()
        taken.withLock { $0 = store }
      }
      for number in 0..<50 {
        let commit = try store.append(Cluster.writes("\(number)"))
        #expect(try store.syncCommits() == commit)
      }
      #expect(eventually { second.texts == first.texts && second.texts.count == 50 })
      #expect(second.node.figures.owner == first.node.identity)
      #expect(taken.withLock { $0 == nil })
      first.end()
      follower.join()
      let next = try #require(taken.withLock { $0 })
      try next.commit(Cluster.writes("next"), durable: true)
      #expect(Cluster.code { try store.commit(Cluster.writes("stale"), durable: true) } == .fenced)
      #expect(first.losses.withLock { $0.map(\.code) } == [.fenced])
      #expect(Cluster.code { try store.commit(Cluster.writes("stale"), durable: true) } == .poisoned)
      #expect(Cluster.code { try store.reopen() } == .fenced)
      #expect(try Cluster.texts(settings).suffix(1) == ["next"])
      #expect(second.texts.count == 51)
      try store.close()
      second.end()
      try next.close()
    }

    @Test func `after an outage of the database the owner has the time of a lease to go on`() throws {
      let settings = try Cluster.settings()
      let owner = Cluster.node("a")
      let writer = LogWriter(settings, node: owner)
      let client = LogClient(settings)
      let isOwner = try writer.takeOver(from: client.readHead())
      try #require(isOwner)
      let endLease = {
        try PostgresConnection(settings.url, seconds: 5).run(
          script: "UPDATE ruled.nodes SET lease = clock_timestamp() - interval '1 second' WHERE node = 'a'",
          milliseconds: 5000)
      }
      _ = try client.renewLease(of: owner, at: 0)
      try endLease()
      // The other node reaches the database first.
      let other = try Node("b", settings)
      let taken = Mutex<ClusterStore?>(nil)
      let follower = try Thread(name: "follow") {
        let store = try? other.own()
        taken.withLock { $0 = store }
      }
      #expect(eventually { other.node.hasLease && other.node.figures.owner == owner })
      #expect(try client.renewLease(of: owner, at: 0) == false)
      try Cluster.append(["1"], by: writer)
      #expect(eventually { other.texts == ["1"] })
      #expect(try client.readHead().owner == owner)
      // It dies.
      try endLease()
      follower.join()
      try #require(taken.withLock { $0 }).close()
      #expect(try client.readHead().owner?.name == "b")
      other.end()
    }

    @Test func `a node that comes back goes on from its store, and checks that this is of the same log`() throws {
      let settings = try Cluster.settings()
      let folder = TemporaryFolder()
      do {
        let node = try Node("a", settings, folder: folder)
        let store = try node.own()
        for number in 0..<10 { try store.commit(Cluster.writes("\(number)"), durable: true) }
        node.end()
        try store.close()
      }
      try Cluster.append(["10", "11"], by: try Cluster.owner(settings, "b"))
      do {
        let node = try Node("a", settings, folder: folder)
        #expect(node.node.position.sequence == 10)
        let store = try node.own()
        #expect(node.texts.count == 12)
        node.end()
        try store.close()
      }
      let other = try Cluster.settings()
      let node = try Node("a", other, folder: folder)
      #expect(Cluster.code { _ = try node.node.review() } == .diverged)
      node.end()
      try node.played.store.close()
    }

    @Test func `an owner without commits is told that it was replaced`() throws {
      var settings = try Cluster.settings()
      settings.lease = 300
      let node = try Node("a", settings)
      let store = try node.own()
      let events = Mutex<[String]>([])
      node.node.serve { event in events.withLock { $0.append("\(event)") } }
      _ = try Cluster.owner(settings, "b")
      #expect(eventually { events.withLock { !$0.isEmpty } })
      #expect(events.withLock { $0.count == 1 && $0[0].contains("another node has taken the log") })
      #expect(!node.node.figures.isOwner)
      node.end()
      try store.close()
    }

    @Test func `a former owner has no lease when it renews that again, before it knows that it was replaced`() throws {
      var settings = try Cluster.settings()
      settings.lease = 300
      let node = try Node("a", settings)
      let store = try node.own()
      let hadLease = Mutex<Bool?>(nil)
      let owner = node.node
      owner.serve { _ in hadLease.withLock { $0 = owner.hasLease } }
      #expect(eventually { owner.hasLease })
      // The node can't renew its lease for longer than it lasts, and another one takes the log over meanwhile.
      let database = try PostgresConnection(settings.url, seconds: 5)
      try database.run(script: "BEGIN; LOCK TABLE ruled.nodes IN ACCESS EXCLUSIVE MODE", milliseconds: 5000)
      #expect(eventually { !owner.hasLease })
      try database.run(
        script: "UPDATE ruled.logs SET epoch = epoch + 1, owner = 'b', incarnation = 'b'; COMMIT", milliseconds: 5000)
      #expect(eventually { hadLease.withLock { $0 != nil } })
      #expect(hadLease.withLock { $0 } == false, "another node may have committed by then")
      let end = try Cluster.endOfLease("a", settings)
      #expect(try eventually { try Cluster.endOfLease("a", settings) > end })
      #expect(!owner.hasLease, "the store that it serves lacks what the other one commits")
      node.end()
      try store.close()
    }

    /// Why a node can't be drained; nil if it was.
    private static func obstacle(to node: String, _ administration: ClusterAdministration) throws -> String? {
      guard case .failure(let refusal) = try administration.drain(node, force: false) else { return nil }
      return refusal.message
    }

    @Test func `a drained node gives the log up, and does not take it until that is over`() throws {
      let settings = try Cluster.settings()
      let administration = ClusterAdministration(settings)
      let node = try Node("a", settings)
      let store = try node.own()
      let events = Mutex<[String]>([])
      node.node.serve { event in events.withLock { $0.append("\(event)") } }
      #expect(try Self.obstacle(to: "a", administration)?.contains("no other node is there") == true)
      #expect(throws: RequestError.self) { try administration.drain("b", force: false).get() }
      #expect(throws: RequestError.self) { try administration.undrain("b").get() }
      let cluster = try administration.drain("a", force: true).get()
      #expect(cluster.owner?.identity.name == "a" && cluster.nodes.map(\.isDrained) == [true])
      #expect(eventually { events.withLock { $0 == ["drained"] } })
      node.end()
      try store.close()
      let again = try Node("a", settings, folder: node.folder)
      let taken = Mutex(false)
      let follower = try Thread(name: "follow") {
        if (try? again.node.awaitOwnership()) != nil { taken.withLock { $0 = true } }
      }
      #expect(eventually { again.node.figures.isDrained })
      #expect(try !LogWriter(settings, node: again.node.identity).takeOver(from: LogClient(settings).readHead()))
      #expect(taken.withLock { !$0 })
      #expect(try administration.undrain("a").get().nodes.map(\.isDrained) == [false])
      follower.join()
      #expect(taken.withLock { $0 })
      again.end()
      try again.played.store.close()
    }

    @Test func `only a node that follows closely allows another one to be drained`() throws {
      var settings = try Cluster.settings()
      settings.lease = 3_600_000
      let writer = try Cluster.owner(settings)
      let client = LogClient(settings)
      _ = try client.renewLease(of: Cluster.node("a"), at: 0)
      let follower = Cluster.node("b")
      _ = try client.renewLease(of: follower, at: 0)
      try PostgresConnection(settings.url, seconds: 5).run(
        script: "UPDATE ruled.logs SET sequence = 2000", milliseconds: 5000)
      _ = try client.renewLease(of: follower, at: 0)
      let administration = ClusterAdministration(settings)
      #expect(try administration.overview().nodes.first { $0.identity.name == "b" }?.behind == 2000)
      #expect(try Self.obstacle(to: "a", administration)?.contains("2000 batches") == true)
      _ = try client.renewLease(of: follower, at: 1500)
      #expect(try administration.drain("a", force: false).get().nodes.count == 2)
      #expect(try Self.obstacle(to: "b", administration)?.contains("all other nodes are drained") == true)
      withExtendedLifetime(writer) {}
    }

    @Test func `a database that lost commits which a node has played back is refused`() throws {
      let settings = try Cluster.settings()
      let node = try Node("a", settings)
      let store = try node.own()
      for number in 0..<5 { try store.commit(Cluster.writes("\(number)"), durable: true) }
      try PostgresConnection(settings.url, seconds: 5).run(
        script: """
          DELETE FROM ruled.commits WHERE sequence = 5;
          UPDATE ruled.logs SET sequence = 4, digest = (SELECT digest FROM ruled.commits WHERE sequence = 4);
          """, milliseconds: 5000)
      #expect(Cluster.code { _ = try node.node.review() } == .diverged)
      #expect(Cluster.code { try store.commit(Cluster.writes("5"), durable: true) } == .fenced)
      node.end()
      try store.close()
    }

    @Test func `commits of many threads are few batches, in the order of their numbers`() throws {
      let settings = try Cluster.settings()
      let node = try Node("a", settings)
      let store = try node.own()
      let threads = try (0..<8).map { thread in
        try Thread(name: "commit") {
          for number in 0..<50 { try? store.commit(Cluster.writes("\(thread * 50 + number)"), durable: true) }
        }
      }
      for thread in threads { thread.join() }
      #expect(node.texts.count == 400)
      #expect(try Cluster.texts(settings).sorted() == node.texts)
      #expect(store.committedSequence == 400)
      #expect(node.node.position.sequence < 400)
      node.end()
      try store.close()
    }

    @Test func `a commit in doubt that is settled is one success, and the store goes on`() throws {
      let proxy = try DatabaseProxy(to: Cluster.server.folder.path)
      let settings = try Cluster.settings(socket: proxy.folder.path)
      var quiet = settings
      quiet.lease = 3_600_000  // the lease's connection stays still, so that it does not meet the fault
      let node = try Node("a", quiet)
      let store = try node.own()
      for fault in [DatabaseProxy.Fault.answerLost, .statementLost, .statementLate] {
        proxy.arm(fault)
        try store.commit(Cluster.writes("\(fault)"), durable: true)
        proxy.deliver()
      }
      #expect(try Cluster.texts(settings) == ["answerLost", "statementLost", "statementLate"])
      #expect(node.losses.withLock { $0.isEmpty })
      node.end()
      try store.close()
    }
  }
}
