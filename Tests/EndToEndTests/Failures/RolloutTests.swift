import Glibc
import RuledCore
import RuledEngine
import TestSupport
import Testing

extension EndToEnd {
  /// Rollouts: which subjects get the candidate, over kills, and how one ends.
  @Suite struct RolloutTests {
    /// Rules that decide their number, and send, set timers and count with it.
    static func rules(_ number: Int, failing: String = "false") -> String {
      """
      plugin { name = "numbered", version = "\(number)" }
      rule "tell" { on = "ask", run = function(event, state)
        if \(failing) then error("planted") end
        state.number = \(number)
        decide("number", \(number))
        count("numbered.side", { side = "\(number)" })
      end }
      rule "pass" { on = "pass", run = function(event) send(event.data.to, "passed", { by = \(number) }) end }
      rule "passed" { on = "passed", run = function(event, state) state.passed = event.data.by; state.got = \(number) end }
      rule "set" { on = "set", run = function() timer.set("t", now() + 60, "rang", {}) end }
      rule "rang" { on = "rang", run = function(event, state) state.rang = \(number) end }
      query "number" (function(state) return { number = \(number) } end)
      """
    }

    private static func sent(_ text: String) -> JSONValue {
      [
        "library": [],
        "plugins": [
          ["name": "numbered", "modules": [["path": "numbered/plugin.lua", "text": .string(text)]], "data": []]
        ],
      ]
    }

    private static let subjects = (0..<200).map { "user:\($0)" }

    private func start(
      _ client: Client, _ percent: JSONValue, _ text: String = rules(2), abortOn: JSONValue = nil
    ) throws -> JSONValue {
      try client.call("rollout_start", ["rules": Self.sent(text), "percent": percent, "abort_on": abortOn])
    }

    /// The subjects that each number decided, with the revisions.
    private func sides(_ client: Client) throws -> [Int64: [String]] {
      var sides: [Int64: [String]] = [:]
      var revisions: [Int64: Set<String>] = [:]
      for subject in Self.subjects {
        let outcome = try client.event("ask", subject)
        let number = outcome["decisions"]?["numbered"]?["number"]?.intValue ?? 0
        sides[number, default: []].append(subject)
        revisions[number, default: []].insert(outcome["revision"]?.stringValue ?? "")
      }
      #expect(revisions.values.allSatisfy { $0.count == 1 })
      return sides
    }

    /// The subjects in a share of the candidate.
    private func chosen(_ status: JSONValue) -> [String] {
      let share = SubjectShare(
        percent: status["percent"]?.doubleValue ?? 0, revision: status["candidate"]?.stringValue ?? "")
      return Self.subjects.filter { share.contains(Array($0.utf8)) }
    }

    /// The journal's entries of rules, once `count` of them are about a rollout: a worker commits these a moment after the answer.
    private func entries(_ client: Client, _ count: Int) throws -> [JSONValue] {
      var entries: [JSONValue] = []
      let areThere = try eventually {
        entries = try client.call("log", ["type": "ruled.rules"])["entries"]?.arrayValue ?? []
        return entries.count { $0["event"]?["data"]?["rollout"] != nil } >= count
      }
      #expect(areThere)
      return entries
    }

    @Test(.oneDaemon("a cluster starts with the rules of its log, not with those of its folder"))
    func `each subject keeps its side over kill -9, a higher share adds subjects, and an abort gives all back`()
      throws
    {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      var client = try daemon.client()
      #expect(try client.failure("rollout_status")["data"]?["code"] == "not_found")
      let status = try start(client, 30)
      let first = chosen(status)
      var (decided, last) = (first.count, first.count)
      #expect((30...90).contains(first.count))
      #expect(try sides(client)[2] == first)
      for percent in [30, 60] {
        if percent == 60 {
          _ = try client.call("rollout_set", ["percent": 60])
          _ = try entries(client, 3)
        }
        daemon.end(SIGKILL)
        daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(3))
        try daemon.start()
        client = try daemon.client()
        let status = try client.call("rollout_status")
        #expect(status["state"] == "running" && status["percent"]?.doubleValue == Double(percent))
        #expect(status["events"]?.intValue == Int64(decided) && status["subjects"]?.intValue == Int64(last))
        let expected = chosen(status)
        (decided, last) = (decided + expected.count, expected.count)
        #expect(Set(first).isSubset(of: expected))
        let sides = try sides(client)
        #expect(sides[2] == expected)
        #expect(sides[1]?.count == Self.subjects.count - expected.count)
        let health = try client.call("health")
        #expect(health["rollout"] == status["candidate"] && health["status"] == "ready")
        #expect(
          health["problems"]?.arrayValue?.first?.stringValue?.contains("changes of the rules folder wait") == true)
        #expect(try client.failure("reload")["data"]?["code"] == "reload_failed")
        #expect(try client.failure("rollback")["data"]?["code"] == "reload_failed")
      }
      let counted = try client.call("rollout_status")
      #expect(counted["events"]?.intValue == Int64(decided) && counted["subjects"]?.intValue == Int64(last))
      #expect(counted["live_events"]?.intValue == Int64(3 * Self.subjects.count - decided))
      #expect(try client.call("rollout_abort")["state"] == "aborted")
      #expect(try client.call("rollout_status")["events"] == counted["events"])
      let noted = try entries(client, 5)
      let rollouts = noted.compactMap { $0["event"]?["data"]?["rollout"] }
      // The start, `set`, a restart after each kill, and the end.
      #expect(rollouts.compactMap { $0["percent"]?.intValue } == [30, 30, 60, 60, 60], "\(rollouts)")
      #expect(rollouts.allSatisfy { $0["candidate"] == counted["candidate"] })
      #expect(rollouts.last?["state"] == "aborted" && noted.last?["revision"] != counted["candidate"])
      #expect(try sides(client)[2] == nil)
      let isInForce = try eventually { try sides(client)[3]?.count == Self.subjects.count }
      #expect(isInForce, "what changed in the folder is in force")
      daemon.end(SIGKILL)
      try daemon.start()
      #expect(try daemon.client().call("rollout_status")["state"] == "aborted")
      #expect(try sides(try daemon.client())[3]?.count == Self.subjects.count)
    }

    @Test func `timers, messages, queries and dry runs of a chosen subject are the candidate's`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)], manualClock: true)
      let client = try daemon.client()
      for subject in Self.subjects { _ = try client.event("set", subject) }
      let status = try start(client, 40)
      let chosen = Set(chosen(status))
      _ = try client.call("clock", ["advance": "2m"])
      for (subject, other) in zip(Self.subjects, Self.subjects.reversed()) {
        _ = try client.event("pass", subject, ["to": .string(other)], with: ["wait": "cascade"])
      }
      for (subject, other) in zip(Self.subjects, Self.subjects.reversed()) {
        let (own, its) = (
          chosen.contains(subject) ? JSONValue.integer(2) : 1, chosen.contains(other) ? JSONValue.integer(2) : 1
        )
        let state = try client.call("state", ["subject": .string(subject)])["plugins"]?["numbered"]
        #expect(state == ["got": own, "passed": its, "rang": own], "\(subject) \(state?.text ?? "")")
        #expect(try client.call("query", ["name": "numbered.number", "subject": .string(subject)])["number"] == own)
        let dry = try client.event("ask", subject, with: ["dryrun": true, "explain": true])
        #expect(dry["decisions"]?["numbered"]?["number"] == own)
      }
      #expect(try client.call("query", ["name": "numbered.number"])["number"] == 1)
    }

    @Test func `a promoted candidate serves all, over kill -9, until the folder changes`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      var client = try daemon.client()
      let candidate = try start(client, 10)["candidate"]
      #expect(try sides(client)[1] != nil)
      let result = try client.call("rollout_promote")
      #expect(result["revision"] == candidate && result["in_folder"] == false)
      #expect(result["folder"]?.stringValue == "\(daemon.folder.path)/rules")
      for _ in 0..<2 {
        #expect(try sides(client)[2]?.count == Self.subjects.count)
        #expect(try client.call("reload")["changed"] == false)
        #expect(try client.call("health")["revision"] == candidate)
        #expect(try client.call("rollout_status")["state"] == "promoted")
        daemon.end(SIGKILL)
        try daemon.start()
        client = try daemon.client()
      }
      #expect(try client.call("revisions")[0]?["source"] == "promoted")
      daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(4))
      _ = try client.call("reload")
      #expect(try sides(client)[4]?.count == Self.subjects.count)
      #expect(try client.call("rollback")["revision"] == candidate)
    }

    @Test
    func
      `a candidate that fails too often is aborted by itself, with the reason, and its parked events are tried again`()
      throws
    {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      _ = try start(client, 100, Self.rules(2, failing: "event.subject:sub(-1) == '7'"), abortOn: "failures > 5%")
      var sent = 0
      while try client.call("rollout_status")["state"] == "running", sent < 30_000 {
        _ = try client.event("ask", Self.subjects[sent % 200])
        sent += 1
      }
      let status = try client.call("rollout_status")
      #expect(status["state"] == "aborted")
      #expect(status["reason"]?.stringValue?.contains("failures > 5%") == true)
      #expect((status["events"]?.intValue ?? 0) >= 100 && (status["failures"]?["candidate"]?.intValue ?? 0) > 5)
      #expect(try sides(client)[1]?.count == Self.subjects.count)
      #expect(try eventually { try client.call("parked")["parked"] == [] })
    }

    @Test func `wrong rules, shares and conditions are refused, and nothing changes`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      let good = Self.sent(Self.rules(2))
      func refusal(_ params: JSONValue) throws -> JSONValue? {
        try client.failure("rollout_start", params)["data"]?["code"]
      }
      #expect(try refusal(["rules": good]) == "invalid_params")
      #expect(try refusal(["rules": good, "percent": 101]) == "invalid_params")
      #expect(try refusal(["rules": good, "percent": 5, "abort_on": "changed > 1%"]) == "invalid_params")
      #expect(try refusal(["rules": [:], "percent": 5]) == "invalid_params")
      #expect(try refusal(["rules": ["plugins": []], "percent": 5]) == "invalid_params")
      #expect(try refusal(["rules": ["plugins": [["name": "../x"]]], "percent": 5]) == "invalid_params")
      #expect(
        try refusal([
          "rules": ["plugins": [["name": "x", "modules": [["path": "y/plugin.lua", "text": ""]]]]], "percent": 5,
        ])
          == "invalid_params")
      #expect(try refusal(["rules": Self.sent("nonsense"), "percent": 5]) == "reload_failed")
      #expect(try refusal(["rules": Self.sent(Self.rules(1)), "percent": 5]) == "reload_failed")
      for method in ["rollout_abort", "rollout_promote"] {
        #expect(try client.failure(method)["data"]?["code"] == "not_found")
      }
      #expect(try client.failure("rollout_set", ["percent": 5])["data"]?["code"] == "not_found")
      #expect(try sides(client)[1]?.count == Self.subjects.count)
      _ = try client.call("rollback", ["revision": try client.call("health")["revision"] ?? .null])
      #expect(try refusal(["rules": good, "percent": 5]) == "reload_failed")
    }

    @Test func `rulectl starts, changes, shows and promotes a rollout`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      daemon.folder.write("next/numbered/plugin.lua", Self.rules(2))
      func tool(_ words: String...) -> (code: Int32, output: String) {
        Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
      }
      #expect(tool("rollout", "status").code == 1)
      let started = tool("rollout", "start", daemon.folder("next"), "--percent", "5", "--abort-on", "failures > 0.1%")
      #expect(started.code == 0 && started.output.contains("running on 5 %"), "\(started.output)")
      #expect(tool("rollout", "set", "25").output.contains("running on 25 %"))
      #expect(tool("rollout", "status", "--json").output.contains("\"state\":\"running\""))
      #expect(tool("rollout", "set").code == 2 && tool("rollout", "promote", "--percent", "5").code == 2)
      let promoted = tool("rollout", "promote")
      #expect(promoted.output.contains("bring \(daemon.folder("rules")) to it"))
      #expect(tool("rollout", "abort").code == 1)
    }
  }
}
