import Glibc
import RuledCore
import RuledStore
import RuledThreads
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// What the standbys have, and what the primary alone has.
  @Suite struct StandbyTests {
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
      settings.lease = 600
      let administration = ClusterAdministration(settings)
      func problem() throws -> String? { try administration.overview().nodes.first?.problem }
      let first = try Node("a", settings)
      try Cluster.wait { try !administration.overview().nodes.isEmpty }
      administration.note("a process of that name is alive", of: "a")
      first.end()
      #expect(try problem() == "")
      administration.note("the store is torn", of: "a")
      #expect(try problem() == "the store is torn")
      let second = try Node("a", settings)
      try Cluster.wait { try problem() == "" }
      second.end()
      #expect(try problem() == "")
    }
  }
}
