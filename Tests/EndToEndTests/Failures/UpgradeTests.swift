import Glibc
import RuledCore
import RuledJSON
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// Stores of other versions: of an earlier program, of the format before, and of a later format, which is refused.
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

    /// A store as the program of commit 39e880f left it when it was killed, with the rules, the configuration and what its methods answered.
    ///
    /// It has files and a log of the journal in their first form, two revisions, parked and retried events, an erased subject, messages, timers, and a clock
    /// set by hand.
    private func earlierStore() throws -> TemporaryFolder {
      let folder = TemporaryFolder()
      let file = #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Data/store-39e880f.tar.gz"
      let unpacked = Program.run("tar", ["-xzf", "/\(file)", "-C", folder.path])
      try #require(unpacked.code == 0, "\(unpacked.output)")
      return folder
    }

    @Test func `a store of an earlier program opens with all that it had, can be explained and replayed, and goes on`()
      throws
    {
      let store = try earlierStore()
      let rules = ["game/plugin.lua", "mate/plugin.lua"].map { ($0, store.read("rules/\($0)")) }
      let daemon = try RuledDaemon(
        rules: Dictionary(uniqueKeysWithValues: rules), manualClock: true, configuration: store.read("ruled.conf.lua"),
        store: "rocksdb:\(store.path)/store")
      let client = try daemon.client()
      let expected = try JSONValue(parsing: store.read("expected.json"))
      for (subject, state) in try #require(expected["states"]?.objectValue) {
        #expect(try client.call("state", ["subject": .string(subject)]) == state)
      }
      let recorded = try #require(expected["entries"]?.arrayValue)
      let log = try client.call("log", ["limit": 10_000])
      #expect(log["gaps"] == [])
      #expect(log["entries"]?.arrayValue?.prefix(recorded.count).elementsEqual(recorded) == true)
      #expect(try client.call("health")["revision"] == expected["revision"])
      // Its remembered outcomes, its clock and its parked events are there.
      #expect(try client.event("played", "user:1", ["kind": "even"], with: ["id": "1-8"])["duplicate"] == true)
      let now = try client.call("clock", ["advance": "1s"])["now"]?.stringValue
      #expect(now == "2026-11-01T09:08:31.250Z")
      let parked = try #require(try client.call("parked")["parked"]?.arrayValue)
      #expect(parked.map { $0["events"]?[0]?["id"] } == ["7-bad"])
      let past = try client.call("explain_past", ["subject": "user:3", "id": "3-7"])
      #expect(past["outcome"]?["decisions"]?["mate"] == ["n": 7])
      #expect(try client.call("state", ["subject": "user:2", "version": 3])["plugins"]?["game"] == ["points": 30])

      daemon.folder.replace(
        "rules/mate/plugin.lua",
        with: rules[1].1.replacing("error(\"bad is not known\")", with: "decide(\"bad\", true)"))
      _ = try client.call("reload")
      #expect(try eventually { try client.call("parked")["parked"] == [] })
      #expect(try client.event("played", "user:7", ["kind": "even"])["decisions"]?["mate"]?["n"] == 11)
      #expect(daemon.end(SIGTERM) == 0)
      let whole = try RecordedPast(store: "\(store.path)/store")
      #expect(whole.gaps.isEmpty && whole.entries.count > recorded.count)
      let difference = try whole.difference(after: whole.snapshots.first)
      #expect(difference == nil, "\(difference ?? "")")
    }

    @Test func `a store of the format before opens with its content, and its journal begins there`() throws {
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
      // Events from before the journal are in the snapshot that it began with.
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
      let refused = daemon.rival(ofSystemd: true)
      #expect(refused.code == 78, "a restart would meet the same")
      #expect(
        refused.output.contains("format \(RocksStore.format + 1), this ruled knows up to \(RocksStore.format)"),
        "\(refused.output)")
      #expect(TemporaryFolder.names("\(path)/journal").sorted() == before)
    }
  }
}
