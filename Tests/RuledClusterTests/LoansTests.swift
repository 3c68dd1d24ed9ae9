import RuledStore
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// What the owner has lent, as the database shows it.
  @Suite struct LoansTests {
    /// Settings of a version of the daemon whose tables don't say what the owner has lent.
    private static func earlier(_ settings: ClusterSettings) -> ClusterSettings {
      var earlier = settings
      let format = ClusterSchema.firstWithLoans - 1
      earlier.schema = ClusterSchema(
        upgrades: Array(ClusterSchema.current.upgrades.prefix(Int(format))), oldest: format)
      return earlier
    }

    private static func loans(_ settings: ClusterSettings) throws -> Loans? {
      try ClusterAdministration(settings).overview().loans
    }

    @Test func `the owner says what it has lent, and those that follow it begin with nothing`() throws {
      var settings = try Cluster.settings()
      settings.lease = 600
      let first = try Node("a", settings)
      let store = try first.own()
      #expect(try Self.loans(settings) == nil)
      first.node.setShares(["too early": 1], moves: 1)
      first.node.serve { _ in }
      try Cluster.wait { try Self.loans(settings) == Loans([:], moves: 0) }
      let names = ["b": 85, #"a "b\", {c}"#: 84, "é\n": 1]
      first.node.setShares(names, moves: 7)
      try Cluster.wait { try Self.loans(settings) == Loans(names, moves: 7) }
      first.end()
      #expect(try Self.loans(settings) == nil)
      let second = try Node("b", settings)
      let next = try second.own()
      #expect(try Self.loans(settings) == nil, "those of the former owner are not of this one")
      second.node.serve { _ in }
      try Cluster.wait { try Self.loans(settings) == Loans([:], moves: 0) }
      second.end()
      try next.close()
      try store.close()
    }

    @Test func `a node that was drained has lent nothing when it owns the log again`() throws {
      var settings = try Cluster.settings()
      settings.lease = 600
      let administration = ClusterAdministration(settings)
      let node = try Node("a", settings)
      let store = try node.own()
      node.node.serve { _ in }
      node.node.setShares(["b": 128], moves: 4)
      try Cluster.wait { try Self.loans(settings) == Loans(["b": 128], moves: 4) }
      _ = try administration.drain("a", force: true).get()
      try Cluster.wait { try Self.loans(settings) == nil }
      _ = try administration.undrain("a")
      node.node.setShares(["b": 128], moves: 5)
      try Cluster.wait { !node.node.figures.isDrained }
      #expect(try Self.loans(settings) == nil)
      node.end()
      try store.close()
    }

    @Test func `tables of the format before don't say what is lent until all nodes read the later one`() throws {
      var settings = try Cluster.settings()
      settings.lease = 600
      let earlier = Self.earlier(settings)
      let old = Cluster.node("old")
      let client = LogClient(earlier)
      _ = try client.renewLease(of: old, at: 0)
      let node = try Node("new", settings)
      let store = try node.own()
      node.node.serve { _ in }
      node.node.setShares(["b": 128], moves: 4)
      try Cluster.wait { try administrated(settings)["new"] == .owner }
      for _ in 0..<4 {
        _ = try client.renewLease(of: old, at: 0)
        #expect(try Self.loans(settings) == nil)
      }
      try client.releaseLease(of: old)
      try Cluster.wait { try Self.loans(settings) == Loans(["b": 128], moves: 4) }
      node.end()
      try store.close()
    }

    private func administrated(_ settings: ClusterSettings) throws -> [String: ClusterOverview.Role] {
      let nodes = try ClusterAdministration(settings).overview().nodes
      return Dictionary(uniqueKeysWithValues: nodes.map { ($0.identity.name, $0.role) })
    }
  }
}
