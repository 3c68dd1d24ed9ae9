import Glibc
import RuledCore
import RuledJSON
import RuledJournal
import TestSupport
import Testing

extension EndToEnd {
  /// The proof of exact replay on the shipped rules: a day of each product, over a kill, comes out again byte for byte.
  @Suite struct ShippedRulesTests {
    private static let root = String(#filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 })

    @Test func `the products' days replay exactly`() throws {
      let daemon = try RuledDaemon(
        rules: [:], manualClock: true, configuration: "journal = { keep = '60d', snapshot = '1d' }",
        preparation: "cp -r '\(Self.root)/rules/.' \"$2\"")
      let products = ["analytics", "attribution", "deeplinks", "gamification", "onboarding"]
      for product in products {
        let sent = Program.run(
          "\(RuledDaemon.programs)/rulectl",
          ["--socket", daemon.socket, "event", "--file", "\(Self.root)/examples/\(product).ndjson"])
        #expect(sent.code == 0, "\(product): \(sent.output)")
        if product == "deeplinks" {
          daemon.end(SIGKILL)
          try daemon.start()
        }
      }
      let client = try daemon.client()
      _ = try client.call("clock", ["advance": "3d"])
      _ = try client.call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      let past = try RecordedPast(store: daemon.store)
      #expect(past.gaps.isEmpty)
      #expect(past.entries.filter { $0.origin == .client }.count > 100)
      #expect(past.entries.contains { $0.origin == .message } && past.entries.contains { !$0.effects.isEmpty })
      for product in products {
        #expect(
          past.entries.contains { String(decoding: $0.decisions, as: UTF8.self).contains("\"\(product)\":") },
          "nothing of \(product)")
      }
      let difference = try past.difference()
      #expect(difference == nil, "from the beginning: \(difference ?? "")")
      for snapshot in past.snapshots {
        let difference = try past.difference(after: snapshot)
        #expect(difference == nil, "from the snapshot after \(snapshot.sequence): \(difference ?? "")")
      }
    }
  }
}
