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

    /// Data with as many values as an event may have, in the shapes that take most memory, in 1 MB of text.
    private static func largest() -> [String] {
      func list(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }
      let count = 9_900
      let depth = 58
      let chain = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      let texts = (0..<count).map { "\"\($0)-\(String(repeating: "x", count: 90))\"" }
      return [
        list(Array(repeating: "[]", count: count)), list(Array(repeating: "{\"a\":{}}", count: count / 3)),
        list(Array(repeating: chain, count: count / depth)), list(texts),
        "{" + texts.map { "\($0.dropLast(46))\":\"\($0.dropFirst(1).prefix(45))\"" }.joined(separator: ",") + "}",
      ]
    }

    @Test func `no plugin is short of memory on the largest event, in half of what it has`() throws {
      let daemon = try RuledDaemon(
        rules: [:],
        preparation: """
          cp -r '\(Self.root)/rules/.' "$2"
          for file in "$2"/*/plugin.lua; do
            sed -i -e 's/memory_mib = [0-9]*/memory_mib = 8/' "$file"
            grep -q memory_mib "$file" || sed -i -e '0,/^plugin *{/s//plugin { budget = { memory_mib = 8 },/' "$file"
          done
          """)
      let client = try daemon.client()
      var types: Set<String> = []
      for product in ["analytics", "attribution", "deeplinks", "gamification", "onboarding"] {
        for line in TemporaryFolder.read("\(Self.root)/examples/\(product).ndjson").split(separator: "\n") {
          let event = try JSONValue(parsing: String(line))
          guard let type = event["type"]?.stringValue, types.insert(type).inserted else { continue }
          let data = event["data"]?.objectValue ?? [:]
          for (number, largest) in Self.largest().enumerated() {
            for name in ["extra"] + data.map(\.name).prefix(1) {
              var rest = data
              rest[name] = nil
              let members = rest.map { "\(JSONValue.string($0.name).text):\($0.value.text)," }.joined()
              let answer = client.exchange(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"event\",\"params\":{\"type\":\(JSONValue.string(type).text),"
                  + "\"subject\":\"user:\(number)\",\"source\":\((event["source"] ?? "").text),"
                  + "\"data\":{\(members)\"\(name)\":\(largest)}}}")
              let failures = try JSONValue(parsing: answer ?? "")["result"]?["failures"]?.arrayValue
              #expect(
                failures != nil && failures?.contains { $0["kind"] == "memory" } == false,
                "\(type) \(name) \(number): \(answer ?? "")")
            }
          }
        }
      }
      #expect(types.count > 20)
    }

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
      let lines = daemon.log.split(separator: "\n").filter { $0.contains("\"rule\":") }
      #expect(lines.isEmpty, "a rule writes a line at info or above: \(lines.first ?? "")")
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
