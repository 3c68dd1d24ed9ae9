import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Versions of states over reloads, rollbacks, rollouts and restarts.
  @Suite struct MigrationTests {
    private static let one = """
      plugin { name = "p" }
      rule "r" { on = "x", run = function(event, state) state.n = event.data.n end }
      query "q" (function(state) return state end)
      """

    private static func two(down: Bool, members: String = "total = 'integer'") -> String {
      """
      plugin { name = "p" }
      state { version = 2, \(members) }
      migrate { [2] = {
        up = function(old) old.total, old.n = old.n, nil return old end,
        \(down ? "down = function(new) new.n, new.total = new.total, nil return new end," : "")
      } }
      rule "r" { on = "x", run = function(event, state) state.total = event.data.n end }
      query "q" (function(state) return state end)
      """
    }

    private func put(_ text: String, into daemon: RuledDaemon) {
      daemon.folder.replace("rules/p/plugin.lua", with: text)
    }

    private func reason(_ error: JSONValue) -> String { error.text }

    @Test func `states go up after a reload and down after a rollback, over restarts`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": Self.one])
      var client = try daemon.client()
      for (subject, n) in [("a", 1), ("b", 2)] { _ = try client.event("x", subject, ["n": .integer(Int64(n))]) }
      put(Self.two(down: true), into: daemon)
      _ = try client.call("reload")
      #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"] == ["total": 1])
      #expect(try client.call("export", ["subject": "a"])["plugins"]?["p"] == ["total": 1])
      #expect(try client.call("query", ["name": "p.q", "subject": "b"]) == ["total": 2])
      _ = try client.event("x", "a", ["n": 7])
      put(Self.two(down: true, members: "total = 'number'"), into: daemon)
      let refusal = try client.failure("reload")
      #expect(reason(refusal).contains("its version is 2 in both"), "\(refusal)")
      let check = Program.run(
        "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "check", "\(daemon.folder.path)/rules"])
      #expect(check.code == 1 && check.output.contains("its version is 2 in both"), "\(check)")
      _ = try client.call("rollback")
      for _ in 0..<2 {
        #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"] == ["n": 7])
        #expect(try client.call("state", ["subject": "b"])["plugins"]?["p"] == ["n": 2])
        daemon.end(SIGKILL)
        try daemon.start()
        client = try daemon.client()
      }
      #expect(try client.event("x", "a", ["n": 8])["failures"] == [])
      #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"] == ["n": 8])
    }

    @Test func `a start with another shape of the same version serves the last good rules, as a reload does`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": Self.two(down: true)])
      _ = try daemon.client().event("x", "a", ["n": 1])
      daemon.end(SIGKILL)
      put(Self.two(down: true, members: "total = 'string'"), into: daemon)
      try daemon.start()
      let client = try daemon.client()
      #expect(try client.call("health").text.contains("its version is 2 in both"))
      #expect(try client.event("x", "a", ["n": 2])["failures"] == [])
      #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"] == ["total": 2])
    }

    @Test func `without a step down, nothing leads to an earlier version, and the step is named`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": Self.one])
      let client = try daemon.client()
      func sent(_ text: String) -> JSONValue {
        ["library": [], "plugins": [["name": "p", "modules": [["path": "p/plugin.lua", "text": .string(text)]]]]]
      }
      let trial = try client.failure("rollout_start", ["rules": sent(Self.two(down: false)), "percent": 50])
      #expect(reason(trial).contains("step 2 of its migrations has no 'down'"), "\(trial)")
      put(Self.two(down: false), into: daemon)
      _ = try client.call("reload")
      let rollback = try client.failure("rollback")
      #expect(reason(rollback).contains("step 2 of its migrations has no 'down'"), "\(rollback)")
      let older = try client.failure("rollout_start", ["rules": sent(Self.one), "percent": 50])
      #expect(reason(older).contains("step 2"), "\(older)")
      put(Self.one, into: daemon)
      #expect(reason(try client.failure("reload")).contains("step 2"))
      _ = try client.event("x", "a", ["n": 1])
      #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"] == ["total": 1])
    }

    @Test(.oneDaemon("a checkpoint is made of one daemon's own store"))
    func `migrate --check tries the steps on every stored state beside the daemon`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": Self.one])
      let client = try daemon.client()
      for n in 0..<5 {
        let value: JSONValue = n == 3 ? "three" : .integer(Int64(n))
        _ = try client.event("x", "user:\(n)", ["n": value])
      }
      let folder = TemporaryFolder()
      folder.write("p/plugin.lua", Self.two(down: false))
      let run = Program.run(
        "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "migrate", "--check", folder.path, "--json"])
      #expect(run.code == 1, "\(run)")
      let found = try JSONValue(parsing: run.output)["plugins"]?[0]
      #expect(found?["plugin"] == "p" && found?["from"] == 1 && found?["fit"] == 4 && found?["failed"] == 1, "\(run)")
      #expect(found?["reasons"]?[0]?["count"] == 1 && found?["reasons"]?[0]?["subjects"] == ["user:3"])
      #expect(found?["reasons"]?[0]?["message"]?.stringValue?.contains("state.total must be an integer") == true)
      #expect(try client.event("x", "user:3", ["n": 3])["failures"] == [])
      let again = Program.run(
        "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "migrate", "--check", folder.path])
      #expect(again.code == 0, "\(again)")
    }
  }
}
