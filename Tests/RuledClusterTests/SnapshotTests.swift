import Glibc
import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// A folder of snapshots, and starts from it.
  struct SnapshotRig {
    let folder = TemporaryFolder()

    var settings: SnapshotSettings { SnapshotSettings(.folder(folder.path), every: 3_600_000_000) }

    /// The folder of a snapshot.
    func path(_ snapshot: Snapshot, of settings: ClusterSettings) throws -> String {
      let client = LogClient(settings)
      _ = try client.readHead()
      return try folder("\(#require(client.cluster).id)/\(snapshot.name)")
    }

    /// Writes a snapshot of a node's store, as its keeper does.
    func write(_ node: Node, _ settings: ClusterSettings) throws {
      try SnapshotKeeper(self.settings, node: node.node) { _, _ in }.makeSnapshot()
    }

    /// Starts the store of the node `name` in a folder as the daemon does; gives why, and what was reported.
    @discardableResult
    func start(
      _ name: String, _ settings: ClusterSettings, in folder: TemporaryFolder,
      isInterrupted: @escaping () -> Bool = { false }
    ) throws -> (need: SnapshotStart.Need?, problems: [String]) {
      var problems: [String] = []
      let start = SnapshotStart(
        settings, snapshots: self.settings, identity: Cluster.node(name), isInterrupted: isInterrupted
      ) { message, isProblem in if isProblem { problems.append(message) } }
      let store = try RocksStore(path: folder("store"))
      let need = try start.need(of: store)
      try store.close()
      if let need { try start.run(need, path: folder("store"), journal: "journal") }
      return (need, problems)
    }
  }

  /// Settings with small parts, an owner `a` with so many commits, and a place for snapshots.
  static func owner(_ count: Int) throws -> (ClusterSettings, Node, ClusterStore, SnapshotRig) {
    var settings = try settings()
    settings.partitionSize = 10
    let node = try Node("a", settings)
    let store = try node.own()
    for number in 0..<count { try store.commit(writes("\(number)"), durable: true) }
    #expect(try eventually { try LogClient(settings).readHead().isLeaseOver == false })
    return (settings, node, store, SnapshotRig())
  }

  /// Renews the lease of a node, so that the database knows how far it is.
  static func renewLease(_ node: Node, _ settings: ClusterSettings) throws {
    #expect(try LogClient(settings).renewLease(of: node.node.identity, at: node.played.position.sequence) != nil)
  }

  /// Snapshots, the cuts behind them, and nodes that start from them.
  @Suite struct SnapshotTests {
    @Test func `the log is cut behind the second last snapshot, and a new node starts from the last one`() throws {
      let (settings, node, store, place) = try Cluster.owner(25)
      try place.write(node, settings)
      #expect(try Cluster.texts(settings).count == 25, "one snapshot cuts nothing")
      for number in 25..<45 { try store.commit(Cluster.writes("\(number)"), durable: true) }
      try Cluster.renewLease(node, settings)
      try place.write(node, settings)
      #expect(try !LogClient(settings).continues(after: .start))
      #expect(try LogClient(settings).snapshots().map(\.position.sequence) == [45, 25])
      try store.commit(Cluster.writes("last"), durable: true)
      let folder = TemporaryFolder()
      let (need, problems) = try place.start("b", settings, in: folder)
      #expect(need == .empty && problems.isEmpty)
      let second = try Node("b", settings, folder: folder)
      #expect(second.node.position.sequence == 45)
      _ = try second.node.review()
      #expect(second.texts == node.texts && second.texts.count == 46)
      second.end()
      node.end()
      try second.played.store.close()
      try store.close()
    }

    @Test func `a node behind the cut begins its journal anew, as it does not know who was forgotten meanwhile`() throws
    {
      let (settings, node, store, place) = try Cluster.owner(5)
      let away = try Node("b", settings)
      _ = try away.node.review()
      away.end()
      try away.played.store.close()
      try Folder.create(away.folder("store/journal"))
      #expect(try place.start("b", settings, in: away.folder).need == nil)
      #expect(access(away.folder("store/journal"), F_OK) == 0)
      for round in 1...2 {
        for number in 0..<20 { try store.commit(Cluster.writes("\(round) \(number)"), durable: true) }
        try Cluster.renewLease(node, settings)
        try place.write(node, settings)
      }
      #expect(try place.start("b", settings, in: away.folder).need == .behind)
      #expect(access(away.folder("store/journal"), F_OK) != 0)
      node.end()
      try store.close()
    }

    @Test(arguments: [true, false])
    func `a node that has played back commits which a failover lost takes the log's commits`(hasSnapshot: Bool) throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      if hasSnapshot { try place.write(node, settings) }
      for text in ["lost", "lost too"] { try store.commit(Cluster.writes(text), durable: true) }
      node.end()
      try store.close()
      try Folder.create(node.folder("store/journal"))
      try PostgresConnection(settings.url, seconds: 5).run(
        script: """
          DELETE FROM ruled.commits WHERE sequence > 5;
          UPDATE ruled.logs SET sequence = 5, digest = (SELECT digest FROM ruled.commits WHERE sequence = 5);
          """, milliseconds: 5000)
      for last in ["next", "after"] {
        try Cluster.append([last], by: try Cluster.owner(settings, "b"))
        let (need, problems) = try place.start("a", settings, in: node.folder)
        #expect(need == (last == "next" ? .diverged : nil))
        #expect(problems.first?.contains("a failover lost commits") == (last == "next" ? true : nil))
        #expect(access(node.folder("store/journal"), F_OK) != 0, "the journal has what the log has not")
        let again = try Node("a", settings, folder: node.folder)
        #expect(try again.node.review() == nil)
        #expect(try again.texts == Cluster.texts(settings).sorted())
        again.end()
        try again.played.store.close()
      }
    }

    @Test func `the log is not cut past the commits that a live node has to play`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      let behind = Cluster.node("b")
      var slow = settings
      slow.lease = 3_600_000
      #expect(try LogClient(slow).renewLease(of: behind, at: 12) != nil)
      for number in 5..<45 { try store.commit(Cluster.writes("\(number)"), durable: true) }
      for text in ["x", "y", "z"] {
        try place.write(node, settings)
        try store.commit(Cluster.writes(text), durable: true)
        try Cluster.renewLease(node, settings)
      }
      let at = LogPosition(sequence: 12, digest: [])
      #expect(try LogClient(settings).continues(after: at))
      #expect(try !LogClient(settings).continues(after: .start), "the partition before it is dropped")
      try LogClient(settings).releaseLease(of: behind)
      try place.write(node, settings)
      #expect(try !LogClient(settings).continues(after: at))
      node.end()
      try store.close()
    }

    @Test func `three snapshots are kept, and one more that a node starts from`() throws {
      let (settings, node, store, place) = try Cluster.owner(3)
      try place.write(node, settings)
      var slow = settings
      slow.lease = 3_600_000
      let first = try #require(LogClient(settings).snapshots().first)
      let joining = Cluster.node("b")
      #expect(try LogClient(slow).renewLease(of: joining, at: first.position.sequence) != nil)
      for text in ["w", "x", "y", "z"] {
        try store.commit(Cluster.writes(text), durable: true)
        try Cluster.renewLease(node, settings)
        try place.write(node, settings)
      }
      #expect(try LogClient(settings).snapshots().map(\.position.sequence) == [7, 6, 5, 3])
      try LogClient(settings).releaseLease(of: joining)
      try store.commit(Cluster.writes("end"), durable: true)
      try Cluster.renewLease(node, settings)
      try place.write(node, settings)
      let left = try LogClient(settings).snapshots()
      #expect(left.map(\.position.sequence) == [8, 7, 6])
      let path = try place.path(first, of: settings)
      let parent = try #require(path.split(separator: "/").dropLast().last)
      #expect(Set(TemporaryFolder.names(place.folder(String(parent)))) == Set(left.map(\.name)))
      node.end()
      try store.close()
    }

    @Test func `damage in any file of a snapshot is found, and the one before is taken`() throws {
      let (settings, node, store, place) = try Cluster.owner(20)
      try node.played.store.flushAll()
      for number in 20..<30 { try store.commit(Cluster.writes("\(number)"), durable: true) }
      try place.write(node, settings)
      try store.commit(Cluster.writes("last"), durable: true)
      try place.write(node, settings)
      let (last, before) = try (LogClient(settings).snapshots()[0], LogClient(settings).snapshots()[1])
      let path = try place.path(last, of: settings)
      let files = Program.run("find", [path, "-type", "f", "-size", "+0"]).output.split(separator: "\n").map(
        String.init)
      #expect(files.count > 5)
      #expect(files.contains { $0.hasSuffix(".sst") } && files.contains { $0.hasSuffix(".log") })
      let client = LogClient(settings)
      _ = try client.readHead()
      let snapshots = try SnapshotFolder(root: place.folder.path, cluster: #require(client.cluster).id)
      let whole = TemporaryFolder()
      try snapshots.copy(last, to: whole.path) { _ in }
      for file in files {
        let bytes = Self.bytes(of: file)
        for damaged in [bytes.enumerated().map { $0 == bytes.count / 2 ? $1 ^ 1 : $1 }, Array(bytes.dropLast()), nil] {
          Self.write(damaged, to: file)
          let target = TemporaryFolder()
          let error = #expect(throws: StoreError.self) { try snapshots.copy(last, to: target.path) { _ in } }
          #expect(error?.description.contains(file) == true)
          #expect(error?.code == (damaged == nil ? .inputOutput : .corrupt))
        }
        Self.write(bytes, to: file)
      }
      Self.write([], to: files[0])
      let folder = TemporaryFolder()
      let (_, problems) = try place.start("b", settings, in: folder)
      #expect(problems.count == 1 && problems[0].contains(last.name) && problems[0].contains(files[0]))
      let started = try PlayedStore(RocksStore(path: folder("store")))
      #expect(started.position == before.position)
      try started.store.close()
      node.end()
      try store.close()
    }

    private static func bytes(of path: String) -> [UInt8] {
      let file = fopen(path, "r")
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 64 << 20)
      return Array(bytes[..<fread(&bytes, 1, bytes.count, file)])
    }

    private static func write(_ bytes: [UInt8]?, to path: String) {
      unlink(path)
      guard let bytes else { return }
      let file = fopen(path, "w")
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }

    @Test func `without a snapshot that can be used, a new node plays the log, and one behind it is told what to do`()
      throws
    {
      let (settings, node, store, place) = try Cluster.owner(35)
      let folder = TemporaryFolder()
      #expect(try place.start("b", settings, in: folder).need == nil, "there is no snapshot yet")
      for text in ["x", "y"] {
        try place.write(node, settings)
        try store.commit(Cluster.writes(text), durable: true)
        try Cluster.renewLease(node, settings)
      }
      #expect(Program.run("mv", [place.folder.path, place.folder.path + ".gone"]).code == 0)
      let error = #expect(throws: StoreError.self) { try place.start("b", settings, in: folder) }
      #expect(error?.code == .behind)
      #expect(error?.description.contains("mount it") == true)
      let problem = #expect(throws: StoreError.self) { try place.write(node, settings) }
      #expect(problem?.description.contains("mount it") == true)
      #expect(mkdir(place.folder.path, 0o700) == 0)
      let missing = #expect(throws: StoreError.self) { try place.start("b", settings, in: folder) }
      #expect(missing?.description.contains("same folder on all nodes") == true)
      _ = Program.run("rm", ["-rf", place.folder.path + ".gone"])
      let other = SnapshotStart(
        settings, snapshots: nil, identity: Cluster.node("b"), isInterrupted: { false }, report: { _, _ in })
      let unset = #expect(throws: StoreError.self) { try other.run(.behind, path: folder("store"), journal: "journal") }
      #expect(unset?.description.contains("set cluster.snapshots") == true)
      node.end()
      try store.close()
    }

    @Test func `a snapshot of another cluster is refused`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      let (other, otherNode, otherStore, _) = try Cluster.owner(5)
      try place.write(node, settings)
      try place.write(otherNode, other)
      let (mine, foreign) = try (LogClient(settings).snapshots()[0], LogClient(other).snapshots()[0])
      let (path, foreignPath) = try (place.path(mine, of: settings), place.path(foreign, of: other))
      _ = Program.run("rm", ["-r", path])
      #expect(Program.run("cp", ["-r", foreignPath, path]).code == 0)
      let folder = TemporaryFolder()
      let (need, problems) = try place.start("b", settings, in: folder)
      #expect(need == .empty)
      #expect(problems.first?.contains("is one of the cluster") == true)
      #expect(problems.last?.contains("from the beginning of the log") == true)
      let started = try PlayedStore(RocksStore(path: folder("store")))
      #expect(started.position == .start)
      try started.store.close()
      for node in [node, otherNode] { node.end() }
      for store in [store, otherStore] { try store.close() }
    }

    @Test func `one of two nodes that want to write a snapshot does`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      let second = try Node("b", settings)
      _ = try second.node.review()
      let client = LogClient(settings)
      #expect(try client.takeSnapshotTurn(for: Cluster.node("c"), milliseconds: 3_600_000))
      try place.write(node, settings)
      #expect(try client.snapshots().isEmpty, "it is the turn of another node")
      try PostgresConnection(settings.url, seconds: 5).run(script: "DELETE FROM ruled.turns", milliseconds: 5000)
      let threads = try [node, second].map { node in
        try Thread(name: "snapshot") { try? place.write(node, settings) }
      }
      for thread in threads { thread.join() }
      let names = try client.snapshots().map(\.name)
      #expect((1...2).contains(names.count), "at once, or one after the other")
      for node in [node, second] { node.end() }
      try second.played.store.close()
      try store.close()
    }

    @Test func `a node that lost its turn while it wrote lists nothing`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      try place.write(node, settings)
      let client = LogClient(settings)
      var snapshot = try #require(client.snapshots().first)
      snapshot.name = "late"
      #expect(try client.takeSnapshotTurn(for: Cluster.node("c"), milliseconds: 3_600_000))
      #expect(try !client.add(snapshot, for: node.node.identity))
      snapshot.position = LogPosition(sequence: snapshot.position.sequence, digest: [1])
      #expect(Cluster.code { _ = try client.add(snapshot, for: node.node.identity) } == .diverged)
      node.end()
      try store.close()
    }

    @Test func `a follower writes the snapshots, and the owner does when nobody else is there`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      var quick = place.settings
      quick.every = 10_000_000
      let second = try Node("b", settings)
      let follower = try Thread(name: "follow") { _ = try? second.node.awaitOwnership() }
      let client = LogClient(settings)
      #expect(eventually { second.node.position.sequence == 5 && second.node.figures.owner?.name == "a" })
      #expect(try eventually { try client.snapshotNeed(for: node.node.identity).others == 1 })
      let keepers = [node, second].map { SnapshotKeeper(quick, node: $0.node) { _, _ in } }
      let threads = try keepers.map { keeper in try Thread(name: "snapshot") { keeper.run() } }
      for count in 1...2 {
        try store.commit(Cluster.writes("more\(count)"), durable: true)
        #expect(try eventually { try client.snapshots().count == count })
      }
      #expect(try client.snapshots().allSatisfy { $0.node == "b" })
      keepers[1].stop()
      threads[1].join()
      second.end()
      follower.join()
      try store.commit(Cluster.writes("alone"), durable: true)
      #expect(try eventually { try client.snapshots().first?.node == "a" })
      keepers[0].stop()
      threads[0].join()
      node.end()
      try second.played.store.close()
      try store.close()
    }

    @Test func `a keeper knows the age of the latest snapshot, since when one is due, and why none was written`() throws
    {
      let (settings, node, store, place) = try Cluster.owner(5)
      var quick = place.settings
      quick.every = 1_000_000
      let moved = place.folder.path + ".gone"
      #expect(rename(place.folder.path, moved) == 0)
      let keeper = SnapshotKeeper(quick, node: node.node) { _, _ in }
      #expect(keeper.figures.problem == nil && keeper.figures.age == nil && keeper.figures.dueTime == 0)
      let thread = try Thread(name: "snapshot") { keeper.run() }
      #expect(eventually { keeper.figures.problem != nil })
      #expect(keeper.figures.age == nil, "there is none")
      let due = keeper.figures.dueTime
      #expect(eventually { keeper.figures.dueTime > due + 1_000 })
      #expect(rename(moved, place.folder.path) == 0)
      #expect(eventually { keeper.figures.problem == nil && keeper.figures.age != nil && keeper.figures.dueTime == 0 })
      let first = try #require(keeper.figures.age)
      #expect(eventually { keeper.figures.age ?? 0 > first + 2_000 })
      #expect(keeper.figures.dueTime == 0, "nothing was committed since")
      let (age, start) = (try #require(keeper.figures.age), ContinuousClock.now)
      try store.commit(Cluster.writes("more"), durable: true)
      let isYounger = eventually {
        let elapsed = Int((ContinuousClock.now - start) / .milliseconds(1))
        return keeper.figures.age.map { Int($0) < Int(age) + elapsed - 1_000 } ?? false
      }
      #expect(isYounger)
      #expect(try LogClient(settings).snapshots().map(\.position.sequence) == [6, 5])
      keeper.stop()
      thread.join()
      node.end()
      try store.close()
    }

    @Test func `a node that has played nothing back yet writes no snapshot`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      let follower = try Cluster.Node("b", settings)
      #expect(eventually { follower.node.hasLease })
      let keeper = SnapshotKeeper(place.settings, node: follower.node) { _, _ in }
      let thread = try Thread(name: "snapshot") { keeper.run() }
      #expect(eventually { keeper.figures.dueTime > 0 })
      let age = keeper.figures.dueTime
      #expect(eventually { keeper.figures.dueTime > age + 500 })
      #expect(keeper.figures.problem == nil && follower.node.position == .start)
      #expect(try LogClient(settings).snapshots().isEmpty)
      keeper.stop()
      thread.join()
      follower.end()
      try follower.played.store.close()
      node.end()
      try store.close()
    }

    @Test func `nodes start while the log is cut again and again`() throws {
      let (settings, node, store, place) = try Cluster.owner(30)
      try place.write(node, settings)
      let stop = Cluster.Flag()
      let writer = try Thread(name: "write") {
        var number = 30
        while !stop.isSet {
          for _ in 0..<15 {
            try? store.commit(Cluster.writes("\(number)"), durable: true)
            number += 1
          }
          try? Cluster.renewLease(node, settings)
          try? place.write(node, settings)
        }
      }
      let client = LogClient(settings)
      #expect(try eventually { try !client.continues(after: .start) })
      for round in 0..<6 {
        let folder = TemporaryFolder()
        try place.start("b\(round)", settings, in: folder)
        let joined = try Node("b\(round)", settings, folder: folder)
        _ = try joined.node.review()
        let place = joined.node.position.sequence
        #expect(joined.texts.count == Int(place))
        joined.end()
        try joined.played.store.close()
      }
      stop.set()
      writer.join()
      node.end()
      try store.close()
    }

    @Test func `an interrupted start leaves the store as it was`() throws {
      let (settings, node, store, place) = try Cluster.owner(5)
      try place.write(node, settings)
      let folder = TemporaryFolder()
      #expect(Cluster.code { try place.start("b", settings, in: folder, isInterrupted: { true }) } == .interrupted)
      #expect(!TemporaryFolder.names(folder("store")).contains { $0.hasPrefix("replacement") })
      let started = try PlayedStore(RocksStore(path: folder("store")))
      #expect(started.position == .start)
      try started.store.close()
      node.end()
      try store.close()
    }

    @Test func `tables of the second format get all that came later`() throws {
      let settings = try Cluster.settings()
      let client = LogClient(settings)
      _ = try client.readHead()
      try PostgresConnection(settings.url, seconds: 5).run(
        script:
          "DROP TABLE ruled.snapshots, ruled.turns, ruled.revisions, ruled.loads; ALTER TABLE ruled.nodes DROP listen, DROP problem; "
          + "UPDATE ruled.cluster SET format = 2",
        milliseconds: 5000)
      let later = LogClient(settings)
      #expect(try later.snapshots().isEmpty)
      #expect(later.cluster?.id == client.cluster?.id)
    }
  }
}
