import Glibc
import RuledCore
import RuledJSON
import RuledJournal
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// The shipped rules of the plugin `attribution` when an account is deleted.
  @Suite struct AccountDeletionTests {
    private static let root = String(#filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 })

    /// Sends a user messages that each take some milliseconds, so that messages sent to the user afterwards have to wait.
    private static let delay = """
      plugin { name = "delay", version = "1", budget = { instructions = 10000000 } }
      rule "begin" { on = "delay.begin", run = function(event)
        for i = 1, 60 do send(event.data.user, "delay.work") end
      end }
      rule "work" { on = "delay.work", run = function() for i = 1, 400000 do local _ = i end end }
      """

    @Test func `an account that is deleted while a link to it is under way leaves nothing behind`() throws {
      let daemon = try RuledDaemon(
        rules: ["delay/plugin.lua": Self.delay],
        preparation: "cp -r '\(Self.root)/rules/attribution' '\(Self.root)/rules/lib' \"$2\"")
      let client = try Client(daemon.socket)
      let url: JSONValue = "https://example.org/?fbclid=abc&email=anna@example.org"
      try client.event("app.launched", "device:d", ["platform": "android", "url": url])
      try client.event("delay.begin", "device:other", ["user": "user:42"])
      try client.event("user.authenticated", "device:d", ["user": "42"])
      _ = try client.event("account.deleted", "user:42", [:], with: ["wait": "cascade"])
      try #require(try eventually { try client.call("health")["messages"]?["waiting"] == 0 })
      for subject: JSONValue in ["user:42", "device:d"] {
        let state = try client.reply("state", ["subject": subject])
        #expect(state["result"]?["plugins"]?["attribution"] == nil, "\(subject.text): \(state.text)")
      }
      let decisions = try client.event("app.launched", "device:d", ["platform": "android"])["decisions"]
      #expect(decisions?["attribution"]?["first_launch"] == true)
    }

    @Test func `no effect, outcome, journal entry or file has a deleted account's address, plain or hashed`() throws {
      let daemon = try RuledDaemon(
        rules: [:], preparation: "cp -r '\(Self.root)/rules/attribution' '\(Self.root)/rules/lib' \"$2\"")
      let client = try Client(daemon.socket)
      let address = "anna@example.org", hash = SHA256.hash(address).hex
      let url: JSONValue = .string("https://example.org/?utm_source=facebook&fbclid=abc&email=\(address)")
      try client.event("app.launched", "device:d", ["platform": "android", "url": url])
      _ = try client.event("user.authenticated", "device:d", ["user": "42"], with: ["wait": "cascade"])
      #expect(try client.call("export", ["subject": "device:d"]).text.contains(hash))
      #expect(try client.call("effects", ["data": true]).text.contains(hash))
      #expect(try client.call("log").text.contains(address))
      _ = try client.event("account.deleted", "user:42", [:], with: ["wait": "cascade"])
      #expect(try client.call("effects")["effects"] == [])
      let log = try client.call("log").text
      #expect(!log.contains(address) && !log.contains(hash), "\(log)")
      for subject: JSONValue in ["user:42", "device:d"] {
        #expect(try client.reply("export", ["subject": subject])["error"]?["data"]?["code"] == "not_found")
      }
      #expect(daemon.end(SIGTERM) == 0)
      let journal = Journal(of: daemon.store, settings: Configuration.Journal())
      let store = try RocksStore(path: daemon.store, journal: journal)
      try journal.erase(from: store) { true }
      for text in [address, hash] { #expect(TemporaryFolder.files(below: daemon.store, holding: text) == []) }
      try store.close()
    }
  }
}
