import Glibc
import RuledCore
import RuledJSON
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
      try client.event("account.deleted", "user:42")
      try #require(try eventually { try client.call("health")["messages"]?["waiting"] == 0 })
      for subject: JSONValue in ["user:42", "device:d"] {
        let state = try client.reply("state", ["subject": subject])
        #expect(state["result"]?["plugins"]?["attribution"] == nil, "\(subject.text): \(state.text)")
      }
      let decisions = try client.event("app.launched", "device:d", ["platform": "android"])["decisions"]
      #expect(decisions?["attribution"]?["first_launch"] == true)
    }
  }
}
