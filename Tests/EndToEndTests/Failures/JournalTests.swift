import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// The journal of a real daemon: what `log` lists, over reloads, kills and restarts.
  @Suite struct JournalTests {
    private static let rules = [
      "greeter/plugin.lua": """
      plugin { name = "greeter", version = "1", settings = { words = "hello" }, sinks = { "client" } }
      rule "greet" { on = "greet", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("words", settings.words)
        decide("n", state.n)
        emit("client", "hi", {})
        if state.n == 1 then
          send("friend", "greeted", { by = event.subject })
          timer.set("later", now() + 60, "later", {})
        end
      end }
      rule "greeted" { on = "greeted", run = function(event, state) state.greeted = event.data.by end }
      rule "later" { on = "later", run = function(event, state) state.later = true end }
      """,
      "shaky/plugin.lua": """
      plugin { name = "shaky", version = "1" }
      rule "shake" { on = "shake", run = function(event, state) if event.data.fail then error("no") end decide("shaken", true) end }
      """,
    ]

    private func tool(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    private func log(_ client: Client, _ params: JSONObject = [:]) throws -> [JSONValue] {
      try client.call("log", .object(params))["entries"]?.arrayValue ?? []
    }

    private func texts(_ entries: [JSONValue]) -> [String] {
      entries.map {
        "\($0["origin"]?.stringValue ?? "?") \($0["subject"]?.stringValue ?? "?") \($0["version"]?.text ?? "?")"
      }
    }

    @Test
    func `events, messages, timers, retries, erasure and reloads are listed in their order, over a kill and a restart`()
      throws
    {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      var client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      let first = try client.call("event", ["type": "greet", "subject": "a", "wait": "cascade"])
      _ = try client.call("event", ["type": "greet", "subject": "a", "id": "twice"])
      _ = try client.call("event", ["type": "greet", "subject": "a", "id": "twice"])
      _ = try client.call("event", ["type": "greet", "subject": "b", "dryrun": true])
      _ = try client.call("clock", ["advance": "2m"])
      _ = try client.call("event", ["type": "shake", "subject": "s", "data": ["fail": true]])
      daemon.folder.replace(
        "rules/shaky/plugin.lua",
        with:
          "plugin { name = 'shaky', version = '2' }\nrule 'shake' { on = 'shake', run = function() decide('shaken', true) end }"
      )
      let revision = try client.call("reload")["revision"]
      #expect(try eventually { try log(client).count >= 8 })
      let entries = try log(client)
      _ = try client.call("forget", ["subject": "b"])
      let expected = [
        "rules  0", "client a 1", "message friend 1", "client a 2", "timer a 3", "client s 1", "rules  0", "retry s 1",
      ]
      // another worker than the first may have retried before that one noted the rules
      #expect(texts(entries).prefix(6) == expected.prefix(6))
      #expect(Set(texts(entries).suffix(2)) == Set(expected.suffix(2)))
      let retry = try #require(entries.last { $0["origin"] == "retry" })
      let sequences = entries.compactMap { $0["sequence"]?.intValue }
      #expect(sequences == Array(1...8))
      #expect(entries[1]["event"]?["id"] == first["id"] && entries[1]["decisions"] == first["decisions"])
      #expect(entries[1]["effects"] == first["effects"] && entries[1]["revision"] == first["revision"])
      #expect(entries[4]["at"] == "2040-01-01T00:01:00.000Z" && entries[4]["timer"] == "later")
      #expect(entries[5]["failures"]?[0]?["plugin"] == "shaky")
      #expect(entries[6]["revision"] == revision && retry["revision"] == revision && retry["plugin"] == "shaky")
      #expect(entries[1]["digest"]?["greeter"] != entries[3]["digest"]?["greeter"])

      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      #expect(try log(client).prefix(8) == entries[...])
      let files = try client.call("journal")
      #expect(files["first"] == 1 && files["gaps"] == [] && files["snapshots"]?.arrayValue?.isEmpty == false)
      #expect(try log(client).prefix(8) == entries[...])
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      client = try daemon.client()
      #expect(try log(client).prefix(8) == entries[...])
    }

    @Test func `log chooses by subject, type, plugin, decision, failures, time and sequence, in pages`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      for number in 1...5 {
        _ = try client.call("event", ["type": "greet", "subject": .string("u:\(number % 2)"), "wait": "cascade"])
      }
      _ = try client.call("clock", ["advance": "30s"])
      _ = try client.call("event", ["type": "shake", "subject": "s", "data": ["fail": true]])
      _ = try client.call("event", ["type": "shake", "subject": "s", "data": [:]])
      func count(_ params: JSONObject) throws -> Int { try log(client, params).count }
      #expect(try count(["subject": "u:1"]) == 3)
      #expect(try count(["type": "gre.*"]) == 0)
      #expect(try count(["type": "greet"]) == 5)
      #expect(try count(["plugin": "shaky"]) == 2)
      #expect(try count(["decision": "n"]) == 5)
      for spelling in ["2", "2.0", "2e0", "20E-1"] { #expect(try count(["decision": .string("n=\(spelling)")]) == 2) }
      #expect(try count(["decision": "n=\"2\""]) == 0)
      #expect(try count(["decision": "words=hello", "plugin": "greeter"]) == 5)
      #expect(try count(["decision": "words", "plugin": "shaky"]) == 0)
      #expect(try count(["failures": true]) == 1)
      #expect(try count(["since": "10s"]) == 2)
      #expect(try count(["until": "2040-01-01T00:00:10Z", "type": "greet"]) == 5)
      let page = try client.call("log", ["limit": 4])
      let next = try #require(page["next"]?.intValue)
      #expect(page["entries"]?.arrayValue?.count == 4)
      let all = try log(client)
      #expect(try log(client, ["after": .integer(next)]) == Array(all[4...]))
      #expect(page["last"]?.intValue == next)
      let none = try client.call("log", ["type": "nothing"])
      #expect(none["entries"] == [] && none["last"] == all.last?["sequence"])
      for params in [["since": "soon"], ["limit": 0], ["type": ""], ["decision": "=1"], ["failures": 1]] as [JSONObject]
      {
        #expect(try client.failure("log", .object(params))["data"]?["code"] == "invalid_params")
      }

      let lines = tool(daemon, "log", "--json", "--type", "greet").output.split(separator: "\n")
      #expect(lines.count == 5)
      #expect(lines.allSatisfy { (try? JSONValue(parsing: String($0)))?["origin"] == "client" })
      let table = tool(daemon, "log", "u:1", "--limit", "2").output
      #expect(table.split(separator: "\n").count == 2 && table.contains("greeter.words"))
      #expect(tool(daemon, "log", "--since", "soon").code == 2)
      let web = try daemon.client()
      web.send("GET /v1/subjects/u:1/log?decision=n%3D1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      let answer = web.remainingLines().joined(separator: "\n")
      #expect(answer.contains("200 OK"))
    }

    @Test func `without a journal the methods say so, and earlier entries are gone`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "journal = { keep = '1h', max_gib = 0.5 }")
      _ = try daemon.client().call("event", ["type": "greet", "subject": "a"])
      #expect(daemon.end(SIGTERM) == 0)
      #expect(access("\(daemon.store)/journal", F_OK) == 0)
      daemon.folder.replace("ruled.conf.lua", with: "journal = { keep = '0' }")
      try daemon.start()
      let client = try daemon.client()
      #expect(try client.failure("log")["data"]?["code"] == "unavailable")
      #expect(try client.failure("journal")["data"]?["code"] == "unavailable")
      #expect(try client.call("health")["journal"] == .null)
      #expect(access("\(daemon.store)/journal", F_OK) != 0)
    }
  }
}
