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
        // A message between two workers does not count as waiting.
        let isGone = try eventually {
          try client.reply("state", ["subject": subject])["result"]?["plugins"]?["attribution"] == nil
        }
        #expect(isGone, "\(subject.text)")
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
      try expectNoFile(of: daemon, holds: [address, hash])
    }

    /// Ends a daemon, cleans its files as it does twice a day, and expects that none has one of the texts.
    private func expectNoFile(of daemon: RuledDaemon, holds texts: [String]) throws {
      #expect(daemon.end(SIGTERM) == 0)
      let journal = Journal(of: daemon.store, settings: Configuration.Journal())
      let store = try RocksStore(path: daemon.store, journal: journal)
      try journal.erase(from: store) { true }
      for text in texts { #expect(TemporaryFolder.files(below: daemon.store, holding: text) == []) }
      try store.close()
    }

    /// Ada's user id is her address, and bob signs in on her device before she deletes her account.
    @Test(arguments: [false, true])
    func `a device that somebody else is on by then goes on, and tells nothing of the deleted account`(
      linkIsUnderWay: Bool
    ) throws {
      let daemon = try RuledDaemon(
        rules: ["delay/plugin.lua": Self.delay],
        preparation: "cp -r '\(Self.root)/rules/attribution' '\(Self.root)/rules/lib' \"$2\"")
      let client = try Client(daemon.socket)
      let address = "ada@example.org", hash = SHA256.hash(address).hex
      let url: JSONValue = .string("https://example.org/?utm_source=facebook&fbclid=abc&email=\(address)")
      let ada: JSONValue = ["user": .string(address)], whole: JSONObject = ["wait": "cascade"]
      try client.event("app.launched", "device:d", ["platform": "android", "url": url])
      if linkIsUnderWay { try client.event("delay.begin", "device:other", ["user": .string("user:\(address)")]) }
      try client.event("user.authenticated", "device:d", ada, with: linkIsUnderWay ? [:] : whole)
      try client.event("app.launched", "device:d", ["platform": "android"])
      try client.event("user.authenticated", "device:d", ["user": "bob"], with: linkIsUnderWay ? [:] : whole)
      func told() throws -> String {
        try client.call("export", ["subject": "device:d"]).text + client.call("effects", ["data": true]).text
          + client.call("log", ["subject": "device:d"]).text + client.call("log", ["subject": "user:bob"]).text
      }
      let before = try told()
      #expect(before.contains(address) && before.contains(hash))
      _ = try client.event("account.deleted", "user:\(address)", [:], with: whole)
      try #require(try eventually { try client.call("health")["messages"]?["waiting"] == 0 })
      var after = ""
      let tellsNothing = try eventually {
        after = try told()
        return !after.contains(address) && !after.contains(hash)
      }
      #expect(tellsNothing, "\(after)")
      _ = try client.call("forget", ["subject": .string("user:\(address)")])
      let export = try client.call("export", ["subject": "device:d"])
      #expect(export["plugins"]?["attribution"]?["user"] == "bob" && export["topics"] == ["attribution/user:bob"])
      let launch = try client.event("app.launched", "device:d", ["platform": "android"])
      #expect(launch["decisions"]?["attribution"]?["first_launch"] == false)
      _ = try client.event("account.deleted", "user:bob", [:], with: whole)
      _ = try client.call("forget", ["subject": "device:other"])
      #expect(try client.reply("export", ["subject": "device:d"])["error"]?["data"]?["code"] == "not_found")
      try expectNoFile(of: daemon, holds: [address, hash])
    }

    @Test func `the subject that tells others of a deleted account is erased when all have heard`() throws {
      let daemon = try RuledDaemon(
        rules: [:], manualClock: true,
        preparation: "cp -r '\(Self.root)/rules/onboarding' '\(Self.root)/rules/lib' \"$2\"")
      let client = try Client(daemon.socket)
      let address = "ada@example.org"
      _ = try client.event("user.followed", "user:\(address)", ["target": "bob"], with: ["wait": "cascade"])
      _ = try client.event("account.deleted", "user:\(address)", [:], with: ["wait": "cascade"])
      // What bob was told stays with bob.
      func told() throws -> [JSONValue] {
        let entries = try client.call("log")["entries"]?.arrayValue ?? []
        return entries.filter { $0["subject"]?.stringValue?.hasPrefix("erased:") == true && $0["origin"] != "forget" }
      }
      for (seconds, count) in [(1, 2), (10, 3), (60, 0)] {
        _ = try client.call("clock", ["advance": .string("\(seconds)s")])
        try #require(try eventually { try told().count == count }, "after \(seconds) s")
      }
    }
  }
}
