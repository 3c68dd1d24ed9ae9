import Glibc
import RuledCore
import RuledStore
import RuledThreads
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// A server whose commits wait for one standby, which keeps the write-ahead log alone.
  final class ReplicatedServer {
    let server = PostgresServer()
    let settings: ClusterSettings
    private let folder = TemporaryFolder()
    private var standby: pid_t = 0

    init() throws {
      var settings = try Cluster.settings(on: server)
      settings.durability = .commit
      settings.lease = 1_200
      self.settings = settings
      folder.makeFolder("log")
      try startStandby()
      try administer("ALTER SYSTEM SET synchronous_standby_names = 's1'")
      try administer("SELECT pg_reload_conf()")
      #expect(try eventually { try holds("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'") })
    }

    deinit { stopStandby() }

    func startStandby() throws {
      standby = Program.spawn(
        "/usr/lib/postgresql/15/bin/pg_receivewal",
        ["--synchronous", "--no-loop", "-D", folder("log"), "-d", "\(server.url())&application_name=s1"],
        output: folder("out"))
      #expect(try eventually { try holds("SELECT FROM pg_stat_replication WHERE state = 'streaming'") })
    }

    func stopStandby() {
      guard standby > 0 else { return }
      kill(standby, SIGKILL)
      _ = Program.wait(standby)
      standby = 0
    }

    func administer(_ script: String) throws {
      try PostgresConnection(server.url(), seconds: 5).run(script: script, milliseconds: 5000)
    }

    /// Whether a query has a row.
    func holds(_ query: PostgresStatement) throws -> Bool {
      try PostgresConnection(server.url(), seconds: 5).execute(query, milliseconds: 5000).count > 0
    }

    /// Waits until a commit waits for the standby.
    func awaitWaitingCommit() throws {
      #expect(try eventually { try holds("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'") })
    }
  }

  /// What the standbys have, and what the primary alone has.
  @Suite struct StandbyTests {
    @Test func `a commit that a crash of the primary shows is not played back before a standby has it`() throws {
      let place = try ReplicatedServer()
      var settings = place.settings
      settings.commitTimeout = 10_000
      let writer = try Cluster.owner(settings)
      try Cluster.append(["1"], by: writer)
      place.stopStandby()
      let thread = try Thread(name: "writer") { try? Cluster.append(["2"], by: writer) }
      try place.awaitWaitingCommit()
      place.server.kill9()
      place.server.start()
      thread.join()
      #expect(try LogClient(settings).readHead().position.sequence == 2)
      let follower = try Node("b", settings)
      #expect(try follower.node.review() == nil)
      #expect(follower.texts == ["1"])
      try place.startStandby()
      let store = try follower.own()
      #expect(follower.texts == ["1", "2"])
      follower.end()
      try store.close()
    }

    @Test func `a follower has the last commit too, once its owner says that it is confirmed`() throws {
      let place = try ReplicatedServer()
      let owner = try Node("a", place.settings)
      let store = try owner.own()
      try store.commit(Cluster.writes("1"), durable: true)
      try store.commit(Cluster.writes("2"), durable: true)
      let follower = try Node("b", place.settings)
      #expect(try eventually { try follower.node.review() == nil && follower.texts == ["1", "2"] })
      for node in [owner, follower] { node.end() }
      try store.close()
    }

    @Test func `an owner whose renewals no standby confirms answers no reads after a lease`() throws {
      let place = try ReplicatedServer()
      let owner = try Node("a", place.settings)
      let store = try owner.own()
      owner.node.serve { _ in }
      let confirming = try Thread(name: "confirm") { owner.node.keepConfirmed() }
      #expect(eventually { owner.node.hasLease })
      place.stopStandby()
      let isToldWhy = eventually {
        !owner.node.hasLease && owner.node.figures.leaseLeft > 0  // others see its lease
          && "\(owner.node.figures.leaseProblem, default: "")".contains("no standby has confirmed")
      }
      #expect(isToldWhy)
      try place.startStandby()
      #expect(eventually { owner.node.hasLease })
      owner.end()
      confirming.join()
      try store.close()
    }

    @Test func `an open transaction of a person that holds the row of the log is ended`() throws {
      let settings = try Cluster.settings()
      let writer = try Cluster.owner(settings)
      try Cluster.append(["1"], by: writer)
      let person = try PostgresConnection(settings.url, seconds: 5)
      try person.run(script: "BEGIN; SELECT FROM ruled.logs FOR UPDATE", milliseconds: 5000)
      try Cluster.append(["2"], by: writer)
      #expect(try Cluster.texts(settings) == ["1", "2"])
      #expect(throws: PostgresError.self) { try person.run(script: "COMMIT", milliseconds: 5000) }
    }

    @Test func `a session that a node may not end is named`() throws {
      let settings = try Cluster.settings()
      _ = try Cluster.owner(settings)
      let role = "plain\(settings.url.utf8.reduce(0) { ($0 * 31 + UInt32($1)) % 1_000_003 })"
      let administrator = try PostgresConnection("\(settings.url)&application_name=psql", seconds: 5)
      try administrator.run(
        script: """
          CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA ruled TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA ruled TO \(role);
          GRANT pg_read_all_stats TO \(role);
          """, milliseconds: 5000)
      try administrator.run(script: "BEGIN; SELECT FROM ruled.logs FOR UPDATE", milliseconds: 5000)
      var plain = settings
      plain.url = settings.url.replacing("user=postgres", with: "user=\(role)")
      let error = #expect(throws: StoreError.self) { _ = try Cluster.owner(plain, "b") }
      #expect("\(error, default: "")".contains("end the session of postgres (psql, process"))
    }

    @Test func `a standby as the database is named`() throws {
      let server = PostgresServer()
      let settings = try Cluster.settings(on: server)
      server.stop(mode: "fast")
      server.folder.write("data/standby.signal", "")
      server.start()
      let error = #expect(throws: StoreError.self) { _ = try LogClient(settings).readHead() }
      #expect(error?.code == .unreachable)
      #expect("\(error, default: "")".contains("the server at its Unix socket is a standby"))
      #expect("\(error, default: "")".contains("target_session_attrs=read-write"))
    }

    @Test func `why a node could not go on is shown until it has its lease again`() throws {
      var settings = try Cluster.settings()
      settings.lease = 3_600_000
      let administration = ClusterAdministration(settings)
      func problem() throws -> String? { try administration.overview().nodes.first?.problem }
      let first = try Node("a", settings)
      #expect(try eventually { try !administration.overview().nodes.isEmpty })
      administration.note("a process of that name is alive", of: "a")
      first.end()
      #expect(try problem() == "")
      administration.note("the store is torn", of: "a")
      #expect(try problem() == "the store is torn")
      let second = try Node("a", settings)
      #expect(try eventually { try problem() == "" })
      second.end()
      #expect(try problem() == "")
    }
  }
}
