import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Revisions of the rules: their list, going back to one, and the pin that keeps it.
  @Suite struct RevisionTests {
    static func rules(_ number: Int) -> String {
      """
      plugin { name = "numbered", version = "\(number)", settings = { extra = 0 } }
      rule "tell" { on = "ask", run = function() decide("number", \(number) + settings.extra) end }
      """
    }

    private let rulectl = "\(RuledDaemon.programs)/rulectl"

    private func tool(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run(rulectl, ["--socket", daemon.socket] + words)
    }

    private func decided(_ client: Client) throws -> JSONValue? {
      try client.event("ask", "a")["decisions"]?["numbered"]?["number"]
    }

    private func replace(_ daemon: RuledDaemon, _ number: Int) {
      daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(number))
    }

    @Test func `a rollback pins the revision before, over changes of the folder, kill -9 and restarts, until unpin`()
      throws
    {
      let daemon = try RuledDaemon(rules: [
        "numbered/plugin.lua": Self.rules(1), "other/plugin.lua": "plugin { name = 'other' }",
      ])
      var client = try daemon.client()
      let first = try client.call("health")["revision"]
      replace(daemon, 2)
      let second = try client.call("reload")["revision"]
      #expect(try decided(client) == 2)
      let listed = try client.call("revisions")
      #expect(listed.arrayValue?.map { $0["revision"] } == [second, first])
      #expect(listed[0]?["changed"] == ["numbered"])
      #expect(listed[1]?["changed"] == ["numbered", "other"])
      #expect(listed[0]?["live"] == true && listed[1]?["live"] == false && listed[0]?["source"] == "folder")

      #expect(try client.call("rollback") == ["revision": first ?? .null, "changed": true, "pinned": true])
      #expect(try decided(client) == 1)
      replace(daemon, 3)
      #expect(try client.failure("reload")["data"]?["code"] == "reload_failed")
      for _ in 0..<2 {
        daemon.end(SIGKILL)
        try daemon.start()
        client = try daemon.client()
        #expect(try decided(client) == 1)
        let health = try client.call("health")
        #expect(health["status"] == "ready" && health["pinned"] == true && health["revision"] == first)
        #expect(health["problems"]?.arrayValue?.first?.stringValue?.contains("rulectl unpin") == true)
        #expect(try client.call("revisions").arrayValue?.first { $0["pinned"] == true }?["revision"] == first)
      }
      #expect(try client.call("unpin")["changed"] == true)
      #expect(try decided(client) == 3)
      #expect(try client.failure("unpin")["data"]?["code"] == "not_found")
      #expect(try client.call("health")["pinned"] == false)
      daemon.end(SIGKILL)
      try daemon.start()
      #expect(try decided(try daemon.client()) == 3)
    }

    @Test func `a revision comes back with the settings that it had, and rules that don't load stay away at unpin`()
      throws
    {
      let daemon = try RuledDaemon(
        rules: ["numbered/plugin.lua": Self.rules(1)],
        configuration: "plugins = { numbered = { extra = 10 } }")
      let client = try daemon.client()
      let first = try client.call("health")["revision"] ?? .null
      #expect(try decided(client) == 11)
      daemon.folder.replace("ruled.conf.lua", with: "plugins = { numbered = { extra = 20 } }")
      daemon.signal(SIGHUP)
      #expect(try eventually { try decided(client) == 21 })
      #expect(try client.call("rollback")["revision"] == first)
      #expect(try decided(client) == 11)
      #expect(
        try client.call("revision", ["revision": first])["configuration"]?["numbered"]?["settings"]?["extra"] == 10)
      daemon.folder.replace("rules/numbered/plugin.lua", with: "nonsense")
      #expect(try client.failure("unpin")["data"]?["code"] == "reload_failed")
      #expect(try decided(client) == 11)
      replace(daemon, 5)
      _ = try client.call("reload")
      #expect(try decided(client) == 25)
      #expect(try client.failure("rollback", ["revision": "0123"])["data"]?["code"] == "not_found")
      #expect(try client.failure("rollback", ["revision": ""])["data"]?["code"] == "invalid_params")
    }

    @Test(.oneDaemon("the nodes of the script share a folder of rules, not what they say of their configuration"))
    func `health names a configuration that was refused, and settings of another kind than the rules expect`() throws {
      let daemon = try RuledDaemon(
        rules: ["numbered/plugin.lua": Self.rules(1)],
        configuration: "plugins = { numbered = { extra = 10 } }")
      let client = try daemon.client()
      func problem(after configuration: String, _ status: JSONValue) throws -> String {
        daemon.folder.replace("ruled.conf.lua", with: configuration)
        daemon.signal(SIGHUP)
        var problem = ""
        let isThere = try eventually {
          let health = try client.call("health")
          problem = health["problems"]?[0]?.stringValue ?? ""
          if !problem.isEmpty { #expect(health["status"] == status) }
          return !problem.isEmpty
        }
        #expect(isThere)
        return problem
      }
      let refused = try problem(after: "wrkers = 1", "degraded")
      #expect(refused.contains("the configuration was refused") && refused.contains("ruled.conf.lua:1"), "\(refused)")
      let data = try client.failure("reload")["data"] ?? .null
      #expect(data["code"] == "reload_failed" && data["errors"]?[0]?["line"] == 1, "\(data)")
      #expect(data["errors"]?[0]?["file"]?.stringValue?.hasSuffix("ruled.conf.lua") == true, "\(data)")
      #expect(try decided(client) == 11)
      daemon.folder.replace("ruled.conf.lua", with: "plugins = { numbered = { extra = 20 } }")
      _ = try client.call("reload")
      #expect(try decided(client) == 21)
      #expect(try client.call("health")["problems"] == [])
      let setting = try problem(after: "plugins = { numbered = { extra = 'soon' } }", "degraded")
      #expect(setting.contains("ruled.conf.lua:1: the setting 'extra' of plugin 'numbered' must be a"), "\(setting)")
      #expect(try decided(client) == 21)
      daemon.end(SIGTERM)
      try daemon.start()
      let started = try daemon.client()
      let health = try started.call("health")
      #expect(health["status"] == "degraded")
      #expect(health["problems"]?[0]?.stringValue?.contains("'extra'") == true, "\(health)")
      #expect(try decided(started) == 1)
      #expect(try started.failure("reload")["data"]?["errors"]?[0]?["line"] == 1)
      daemon.folder.replace("ruled.conf.lua", with: "plugins = { numbered = { extra = 30 } }")
      _ = try started.call("reload")
      #expect(try decided(started) == 31)
      #expect(try started.call("health")["status"] == "ready")
    }

    @Test(.oneDaemon("it is about the token of one process"))
    func `a token that was replaced is in force from SIGHUP on`() throws {
      let (first, second) = (String(repeating: "1", count: 40), String(repeating: "2", count: 40))
      let port = CrowdTests.freePort()
      let folder = TemporaryFolder()
      folder.replace("token", with: first)
      let daemon = try RuledDaemon(
        rules: ["numbered/plugin.lua": Self.rules(1)],
        configuration: "http = { listen = '127.0.0.1:\(port)', token_file = '\(folder("token"))' }")
      func isTaken(_ token: String) -> Bool {
        let request = CrowdTests.get("/v1/rules", more: "Authorization: Bearer \(token)\r\n")
        return CrowdTests.ask(CrowdTests.connection(port), request).hasPrefix("HTTP/1.1 200")
      }
      #expect(isTaken(first) && !isTaken(second))
      folder.replace("token", with: second)
      daemon.signal(SIGHUP)
      #expect(eventually { isTaken(second) })
      #expect(!isTaken(first))
      #expect(eventually { daemon.log.contains("was replaced") }, "\(daemon.log)")
    }

    @Test(.oneDaemon("it is about the files of a store"))
    func `a damaged archive file is found at the start, and hinders only who asks for that revision`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let first = try daemon.client().call("health")["revision"]?.stringValue ?? ""
      replace(daemon, 2)
      _ = try daemon.client().call("reload")
      daemon.end(SIGKILL)
      let file = "store/revisions/\(first)"
      daemon.folder.write(file, daemon.folder.read(file).replacingText("numbered", with: "numbired"))
      try daemon.start()
      let client = try daemon.client()
      #expect(try eventually { try client.call("health")["problems"]?.text.contains("\(file) is damaged") == true })
      #expect(try client.call("health")["status"] == "ready")
      #expect(try decided(client) == 2)
      let error = try client.failure("rollback")
      #expect(error["message"]?.stringValue?.contains(file) == true)
      #expect(try decided(client) == 2)
      replace(daemon, 1)
      _ = try client.call("reload")
      #expect(try client.call("health")["problems"] == [], "the revision was written anew")
    }

    @Test func `rulectl lists, shows and compares revisions, and rolls back`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      let first = try client.call("health")["revision"]?.stringValue ?? ""
      replace(daemon, 2)
      let second = try client.call("reload")["revision"]?.stringValue ?? ""
      let list = tool(daemon, "revisions")
      #expect(list.code == 0 && list.output.contains(first) && list.output.contains("live"))
      let show = tool(daemon, "revisions", "show", first)
      #expect(show.code == 0 && show.output.contains("==> numbered/plugin.lua <==\nplugin { name = \"numbered\""))
      let difference = tool(daemon, "revisions", "diff", first, second).output
      #expect(difference.contains("--- a/numbered/plugin.lua\n+++ b/numbered/plugin.lua\n@@ -1,2 +1,2 @@\n-plugin"))
      daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(2) + "\n-- \u{1B}[31m\n")
      let red = try client.call("reload")["revision"]?.stringValue ?? ""
      let escaped = tool(daemon, "revisions", "diff", second, red).output
      #expect(escaped.contains("\n+-- \\u{1b}[31m\n") && !escaped.contains("\u{1B}"), "\(escaped)")
      replace(daemon, 2)
      _ = try client.call("reload")
      #expect(tool(daemon, "revisions", "show", "nothing").code == 1)
      #expect(tool(daemon, "revisions", "diff", first).code == 2)
      #expect(tool(daemon, "rollback", first).output.contains("\(first) serves now"))
      #expect(try decided(client) == 1)
      #expect(tool(daemon, "unpin").output.contains(second))
      #expect(try decided(client) == 2)
    }
  }
}

extension String {
  /// The text with one word in the place of another, wherever that stands.
  func replacingText(_ word: String, with other: String) -> String {
    var (text, rest) = ("", self[...])
    while let range = rest.firstRange(of: word) {
      text += rest[..<range.lowerBound] + other
      rest = rest[range.upperBound...]
    }
    return text + rest
  }
}
