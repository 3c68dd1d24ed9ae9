import Glibc
import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// The log of commits while connections, servers and standbys fail.
  @Suite struct LogFaultTests {
    @Test(arguments: [DatabaseProxy.Fault.answerLost, .statementLost, .statementLate])
    func `a commit whose answer never came takes effect once`(fault: DatabaseProxy.Fault) throws {
      let proxy = try DatabaseProxy(to: Cluster.server.folder.path)
      let settings = try Cluster.settings(socket: proxy.folder.path)
      let writer = try Cluster.owner(settings)
      try Cluster.append(["first"], by: writer)
      for round in 0..<5 {
        let epoch = try #require(writer.epoch)
        proxy.arm(fault)
        try Cluster.append(["\(round)"], by: writer)
        #expect(proxy.count == round + 1)
        #expect(try #require(writer.epoch) > epoch, "the answer was settled under a new epoch")
        proxy.deliver()
      }
      try Cluster.append(["last"], by: writer)
      #expect(try Cluster.texts(settings) == ["first", "0", "1", "2", "3", "4", "last"])
    }

    @Test func `an owner whose answer never came learns that another one has taken over`() throws {
      let proxy = try DatabaseProxy(to: Cluster.server.folder.path)
      var settings = try Cluster.settings(socket: proxy.folder.path)
      settings.commitTimeout = 3_600_000
      let writer = try Cluster.owner(settings)
      try Cluster.append(["1"], by: writer)
      // The statement does not arrive, and the next owner comes before the writer asks what became of it.
      let client = LogClient(settings)
      _ = try client.readHead()
      let head = try client.readHead()
      #expect(try LogWriter(settings, node: Cluster.node("b")).takeOver(from: head))
      proxy.arm(.statementLost)
      let error = #expect(throws: StoreError.self) { try Cluster.append(["lost"], by: writer) }
      #expect(error?.code == .fenced)
      #expect(error?.isOutcomeUnknown == false)
      #expect(try Cluster.texts(settings) == ["1"])
    }

    @Test func `a node that stopped within a statement does not keep others from taking over`() throws {
      let proxy = try DatabaseProxy(to: Cluster.server.folder.path)
      let settings = try Cluster.settings()
      let stuck = Cluster.through(proxy, settings)
      let writer = try Cluster.owner(stuck)
      try Cluster.append(["first"], by: writer)
      proxy.arm(.endLost)
      let thread = try Thread(name: "stuck") { _ = try? Cluster.append(["stuck"], by: writer) }
      #expect(eventually { proxy.count == 1 })
      let other = LogWriter(settings, node: Cluster.node("b"))
      let client = LogClient(settings)
      #expect(eventually { (try? other.takeOver(from: client.readHead())) == true })
      try Cluster.append(["last"], by: other)
      thread.join()
      // The node is alive, so it may have owned the log once more before the other one.
      let texts = try Cluster.texts(settings)
      #expect(texts == ["first", "last"] || texts == ["first", "stuck", "last"])
    }

    /// Waits until commits wait for a standby: sessions may see the setting before the checkpointer does, which tells them to wait.
    private func awaitWaitingCommits(on server: PostgresServer, _ administrator: PostgresConnection) throws {
      let isWaiting = Cluster.Flag()
      let thread = try Thread(name: "prober") {
        guard let connection = try? PostgresConnection(server.url(), seconds: 5) else { return }
        let commit = PostgresStatement("SELECT pg_logical_emit_message(true, '', '')")
        while !isWaiting.isSet { _ = try? connection.execute(commit, milliseconds: 60_000) }
      }
      let waiting = PostgresStatement("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      #expect(try eventually { try administrator.execute(waiting, milliseconds: 5000).count > 0 })
      isWaiting.set()
      let cancel = PostgresStatement("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      _ = try administrator.execute(cancel, milliseconds: 5000)
      thread.join()
    }

    @Test func `a cancelled wait for a standby is no success`() throws {
      let server = PostgresServer()
      let settings = try Cluster.settings(on: server)
      let writer = try Cluster.owner(settings)
      try Cluster.append(["1"], by: writer)
      let epoch = try #require(writer.epoch)
      let administrator = try PostgresConnection(server.url(), seconds: 5)
      func set(_ standbys: String) throws {
        try administrator.run(script: "ALTER SYSTEM SET synchronous_standby_names = '\(standbys)'", milliseconds: 5000)
        try administrator.run(script: "SELECT pg_reload_conf()", milliseconds: 5000)
      }
      try set("ghost")
      try awaitWaitingCommits(on: server, administrator)
      let done = Cluster.Flag()
      let thread = try Thread(name: "writer") {
        try? Cluster.append(["2"], by: writer)
        done.set()
      }
      let cancel = PostgresStatement(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname <> 'postgres'")
      #expect(try eventually { try administrator.execute(cancel, milliseconds: 5000).count > 0 })
      // The writer now waits for the standby again, to learn what became of the batch.
      let waiting = PostgresStatement(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%epoch + 1%'")
      #expect(try eventually { try administrator.execute(waiting, milliseconds: 5000).count > 0 })
      #expect(!done.isSet)
      try set("")
      thread.join()
      #expect(try #require(writer.epoch) > epoch)
      #expect(try Cluster.texts(settings) == ["1", "2"])
    }

    @Test(arguments: ["kill", "restart"])
    func `acknowledged commits outlive the server's death, and come once`(way: String) throws {
      let server = PostgresServer()
      var settings = try Cluster.settings(on: server)
      settings.commitTimeout = 180_000
      let writer = try Cluster.owner(settings)
      let acknowledged = Mutex(0)
      let stop = Cluster.Flag()
      let thread = try Thread(name: "writer") {
        while !stop.isSet {
          let number = acknowledged.withLock { $0 }
          guard (try? writer.append(Cluster.batch("\(number)"))) != nil else { return }
          acknowledged.withLock { $0 += 1 }
        }
      }
      for _ in 0..<2 {
        let before = acknowledged.withLock { $0 }
        #expect(eventually { acknowledged.withLock { $0 } > before + 20 })
        if way == "kill" { server.kill9() } else { server.stop(mode: "immediate") }
        server.start()
      }
      let before = acknowledged.withLock { $0 }
      #expect(eventually { acknowledged.withLock { $0 } > before })
      stop.set()
      thread.join()
      let count = acknowledged.withLock { $0 }
      #expect(try Cluster.texts(settings) == (0..<count).map { "\($0)" })
    }

    @Test func `while the server stands still a commit is unknown, and afterwards it is there or not`() throws {
      let server = PostgresServer()
      var settings = try Cluster.settings(on: server)
      settings.commitTimeout = 10_000
      let writer = try Cluster.owner(settings)
      try Cluster.append(["1"], by: writer)
      server.signal(SIGSTOP)
      let error = #expect(throws: StoreError.self) { try Cluster.append(["2"], by: writer) }
      server.signal(SIGCONT)
      #expect(error?.isOutcomeUnknown == true)
      #expect(writer.end == nil)
      #expect(Cluster.code { try Cluster.append(["3"], by: writer) } == .fenced)
      let client = LogClient(settings)
      #expect(eventually { (try? writer.takeOver(from: client.readHead())) == true })
      try Cluster.append(["4"], by: writer)
      let texts = try Cluster.texts(settings)
      #expect(texts == ["1", "4"] || texts == ["1", "2", "4"])
    }

    @Test func `a database that could lose acknowledged commits is refused`() throws {
      var settings = try Cluster.settings()
      settings.durability = .commit
      #expect(Cluster.code { _ = try LogClient(settings).readHead() } == .unsafeDatabase)
      let problems = [
        DurabilityReview(synchronousCommit: "on", standbys: "ANY 1 (a, b)"),
        DurabilityReview(synchronousCommit: "remote_apply", standbys: "a"),
        DurabilityReview(synchronousCommit: "on", standbys: " "),
        DurabilityReview(synchronousCommit: "local", standbys: "a"),
        DurabilityReview(synchronousCommit: "remote_write", standbys: "a"),
        DurabilityReview(synchronousCommit: "off", standbys: "a"),
        DurabilityReview(synchronousCommit: "on", standbys: "a", isSynced: false),
        DurabilityReview(synchronousCommit: "on", standbys: "a", hasFullPages: false),
        DurabilityReview(synchronousCommit: "on", standbys: "a", version: 120_017),
      ]
      func accepted(_ durability: Durability) -> [Int] {
        problems.indices.filter { problems[$0].problem(with: durability) == nil }
      }
      #expect(accepted(.commit) == [0, 1])
      #expect(accepted(.primary) == [0, 1, 2, 3, 4])
      #expect(accepted(.provider) == [0, 1, 2, 3, 4, 7], "the storage repairs its pages itself")
      #expect(problems[2].promise(with: .provider).contains("the operator's word"))
      #expect(problems[2].promise(with: .primary).contains("primary alone"))
    }
  }

  /// Something that is not so until it is.
  final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }

    func set() { value.store(true, ordering: .sequentiallyConsistent) }
  }
}
