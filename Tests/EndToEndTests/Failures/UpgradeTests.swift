import Glibc
import RuledCore
import RuledJSON
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// Stores of other versions: one of the version before gets a journal, one of a later version is refused.
  @Suite(.oneDaemon("it is about the files of a store")) struct UpgradeTests {
    private static let rules = [
      "tally/plugin.lua": """
      plugin { name = "tally" }
      rule "count" { on = "hit", run = function(event, state) state.n = (state.n or 0) + 1 decide("n", state.n) end }
      """
    ]

    /// Marks the store of a daemon that has ended as one of another format.
    private func mark(_ path: String, _ format: Int) throws {
      let store = try RocksStore(path: path)
      let set = WriteSet(capacity: 64)
      let key = StoreKey.bytes { StoreKey.daemon("format", into: $0) }
      key.withView { key in Array("\(format)".utf8).withView { set.put(key, $0) } }
      try store.commit(set, durable: true)
      try store.close()
    }

    @Test func `a store of the format before opens with what it has, and its journal begins there`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "journal = { keep = '0' }")
      for _ in 0..<3 { _ = try daemon.client().event("hit", "a") }
      #expect(daemon.end(SIGTERM) == 0)
      let path = "\(daemon.folder.path)/store"
      // Before the journal a store had the same files but for its folder, and no archive of revisions.
      try mark(path, RocksStore.format - 1)
      TemporaryFolder.remove("\(path)/revisions")
      daemon.folder.replace("ruled.conf.lua", with: "journal = { keep = '7d' }")
      try daemon.start()
      var client = try daemon.client()
      #expect(try client.event("hit", "a", with: ["id": "new"])["decisions"]?["tally"]?["n"] == 4)
      #expect(try client.event("hit", "b")["version"] == 1)
      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      let entries = try client.call("log", ["type": "hit"])["entries"]?.arrayValue ?? []
      #expect(entries.map { $0["version"] } == [4, 1])
      // What was before the journal is in the snapshot that it began with.
      #expect(try client.call("explain_past", ["subject": "a", "id": "new"])["state"]?["tally"] == ["n": 3])
      #expect(try client.call("journal")["gaps"] == [])
      #expect(daemon.end(SIGTERM) == 0)
      let past = try RecordedPast(store: path)
      #expect(past.snapshots.first != nil)
      let difference = try past.difference(after: past.snapshots.first)
      #expect(difference == nil, "\(difference ?? "")")
    }

    @Test func `a store of a later version is refused with what to do, and nothing of it is changed`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "journal = { keep = '7d' }")
      _ = try daemon.client().event("hit", "a")
      #expect(daemon.end(SIGTERM) == 0)
      let path = "\(daemon.folder.path)/store"
      try mark(path, RocksStore.format + 1)
      let before = TemporaryFolder.names("\(path)/journal").sorted()
      let refused = daemon.rival()
      #expect(refused.code != 0)
      #expect(
        refused.output.contains("format \(RocksStore.format + 1), this ruled knows up to \(RocksStore.format)"),
        "\(refused.output)")
      #expect(TemporaryFolder.names("\(path)/journal").sorted() == before)
    }
  }
}
