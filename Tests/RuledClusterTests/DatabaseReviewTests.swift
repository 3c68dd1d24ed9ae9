import RuledCore
import RuledStore
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// What `ruled --check` says of a database, and what nodes set for themselves there.
  @Suite struct DatabaseReviewTests {
    private static func run(_ script: String, _ settings: ClusterSettings) throws {
      try PostgresConnection(settings.url, seconds: 5).run(script: script, milliseconds: 5000)
    }

    /// The same settings for another user.
    private static func user(_ name: String, _ settings: ClusterSettings) -> ClusterSettings {
      var other = settings
      other.url = settings.url.replacing("user=postgres", with: "user=\(name)")
      return other
    }

    @Test func `a review changes nothing, and finds a missing standby`() throws {
      var settings = try Cluster.settings()
      let review = DatabaseReview(settings)
      #expect(review.problems == [] && review.promise?.contains("PostgreSQL 15") == true)
      #expect(try ClusterSchema.read(PostgresConnection(settings.url, seconds: 5)) == nil, "no tables are made")
      settings.durability = .commit
      #expect(DatabaseReview(settings).problems.first?.contains("synchronous_standby_names is empty") == true)
      settings.url = "postgresql:///none?host=/nowhere"
      #expect(DatabaseReview(settings).problems.first?.contains("can't be reached") == true)
    }

    @Test func `a review finds what a user may not do`() throws {
      let settings = try Cluster.settings()
      let (stranger, reader) = (Self.user("stranger", settings), Self.user("reader", settings))
      try Self.run("CREATE ROLE stranger LOGIN; CREATE ROLE reader LOGIN", settings)
      #expect(DatabaseReview(stranger).problems.map { $0.contains("GRANT CREATE ON DATABASE") } == [true])
      _ = try LogClient(settings).readHead()
      #expect(DatabaseReview(settings).problems == [])
      #expect(DatabaseReview(stranger).problems.map { $0.contains("GRANT ALL ON SCHEMA ruled") } == [true])
      try Self.run(
        "GRANT ALL ON SCHEMA ruled TO reader; ALTER ROLE reader SET default_transaction_read_only = on", settings)
      let found = DatabaseReview(reader).problems
      #expect(found.count == 2 && found[0].contains("read-only") && found[1].contains("those of postgres"))
      try Self.run("UPDATE ruled.cluster SET format = 99", settings)
      #expect(DatabaseReview(settings).problems.map { $0.contains("install that version") } == [true])
    }

    @Test func `times that a database sets for its people don't end a node's work`() throws {
      let settings = try Cluster.settings()
      try Self.run(
        "ALTER ROLE postgres SET statement_timeout = '5s'; ALTER ROLE postgres SET idle_session_timeout = '5s'",
        settings)
      defer { try? Self.run("ALTER ROLE postgres RESET ALL", settings) }
      let rows = try LogClient(settings).execute(
        PostgresStatement("SELECT current_setting('statement_timeout') || current_setting('idle_session_timeout')"), [],
        "the times can't be read")
      #expect(rows.text(0, 0) == "00")
    }
  }
}
