import Glibc
import RuledCore
import RuledJSON
import RuledJournal
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// `forget { past = true }`: a rule erases what is held of its subject beside what plugins keep of it now.
  @Suite struct ForgetPastTests {
    private static let marker = "marker-5f0c94e1d7a2"

    private static let rules = """
      plugin { name = "keeps", sinks = { "push" } }
      rule "join" { on = "joined", run = function(event, state)
        state.name, state.n = event.data.name, (state.n or 0) + 1
        decide("name", "hello " .. event.data.name)
        emit("push", "hello", { name = event.data.name })
        emit("push", "once", { name = event.data.name }, { key = "hidden" })
        decide("first", once("claimed"))
        topic.join("all")
        board.set("all", state.n, { keep = "1d" })
        timer.set("later", now() + 3600, "later", { n = 7 })
        timer.every("often", { seconds = 900 }, "often")
      end }
      rule "fail" { on = "failed", run = function(event) error(event.data.name) end }
      rule "clear" { on = "cleared", run = function(event, state)
        state.name, state.cleared = nil, true
        emit("push", "cleared", { name = event.data.name })
        send("user:told", "told")
        forget { past = true }
        decide("done", true)
      end }
      rule "fire" { on = { "later", "often", "told" }, run = function(event, state)
        state.fired = (state.fired or 0) + (event.data.n or 1)
        decide("timers", { timer.due("later") or 0, timer.due("often") or 0 })
      end }
      rule "look" { on = "looked", run = function(event, state)
        decide("seen", { state.n, state.fired, once("claimed"), topic.joined("all") })
        board.add("all", 1)
        emit("push", "once", {}, { key = "hidden" })
        emit("push", "new", {})
      end }
      """

    private func started(_ client: Client, _ subject: String = "user:1") throws {
      let data: JSONValue = ["name": .string(Self.marker)]
      for number in 0..<40 { try client.event("joined", subject, data, with: ["id": .string("join \(number)")]) }
      try client.event("failed", subject, data)
    }

    private func tool(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    /// All that the daemon tells of a subject's past.
    private func told(_ client: Client, _ subject: JSONValue = "user:1") throws -> String {
      try client.call("export", ["subject": subject]).text + client.call("log", ["subject": subject]).text
        + client.call("effects", ["data": true]).text + client.call("parked").text
    }

    @Test func `the past of a subject is gone, the plugins' data goes on, and replays have it`() throws {
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": Self.rules], manualClock: true)
      var client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      try started(client)
      #expect(try told(client).contains(Self.marker))
      let before = try client.call("export", ["subject": "user:1"])
      let data: JSONValue = ["name": .string(Self.marker)]
      let reply = try client.event("cleared", "user:1", data, with: ["id": "clear", "wait": "cascade"])
      #expect(reply["decisions"]?["keeps"] == ["done": true] && reply["version"] == 42)
      for ending in [nil, SIGKILL, SIGTERM] {
        if let ending {
          daemon.end(ending)
          try daemon.start()
          client = try daemon.client()
        }
        #expect(try !told(client).contains(Self.marker))
        let after = try client.call("export", ["subject": "user:1"])
        for name in ["effects", "parked", "events"] { #expect(after[name] == [], "\(name)") }
        for name in ["timers", "once", "topics", "boards"] { #expect(after[name] == before[name], "\(name)") }
        #expect(after["version"] == 42 && after["plugins"]?["keeps"] == ["n": 40, "cleared": true])
        let origins = try client.call("log", ["subject": "user:1"])["entries"]?.arrayValue?.map { $0["origin"] }
        #expect(origins == ["forget", "kept"])
      }
      #expect(try client.call("state", ["subject": "user:told"])["plugins"]?["keeps"] == ["fired": 1])
      _ = try client.call("clock", ["advance": "1h"])
      try client.event("looked", "user:1", with: ["id": "look"])
      let again = try client.event("joined", "user:1", ["name": "new"], with: ["id": "join 39"])
      #expect(again["duplicate"] == false && again["version"] == 49)
      try expectPast(of: daemon, client)
      #expect(tool(daemon, "forget", "user:1").code == 0)
      _ = try client.call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      let past = try RecordedPast(store: daemon.store)
      #expect(!past.entries.contains { $0.origin == .kept } && past.gaps.isEmpty)
      #expect(try past.difference() == nil)
    }

    /// Expects that what is left of the past is replayed as it was.
    private func expectPast(of daemon: RuledDaemon, _ client: Client) throws {
      let state = try client.call("state", ["subject": "user:1", "version": 42])
      #expect(state["plugins"]?["keeps"] == ["n": 40, "cleared": true] && state["timers"]?.arrayValue?.count == 2)
      #expect(tool(daemon, "state", "user:1", "--version", "41").output.contains("has no version 41"))
      let explained = try client.call("explain_past", ["subject": "user:1", "id": "look"])
      #expect(explained["differs"] == nil, "\(explained)")
      #expect(explained["outcome"]?["decisions"]?["keeps"]?["seen"] == [40, 11, false, true])
      #expect(explained["outcome"]?["effects"]?.arrayValue?.count == 1)
      #expect(try client.failure("explain_past", ["subject": "user:1", "id": ""]) != .null)
      let captured = tool(daemon, "capture", "user:1")
      #expect(captured.code == 0 && captured.output.contains("looked"), "\(captured.output)")
      let run = tool(daemon, "backtest", "\(daemon.folder.path)/rules", "--json", "--fail-on", "changed > 0")
      let report = try JSONValue(parsing: run.output)
      #expect(run.code == 0, "\(run.output)")
      #expect(report["outcomes"]?["changed"] == 0 && report["outcomes"]?["equal"] == 8, "\(report)")
      #expect(report["fidelity"]?["equal"] == 8, "\(report)")
    }

    @Test func `the past that is not to be erased is no reason to erase the state`() throws {
      let rule = "rule 'spare' { on = 'spared', run = function() forget { past = false } end }"
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": "plugin { name = 'keeps' } \(rule)"])
      #expect(try daemon.client().event("spared", "user:1")["failures"]?[0]?["kind"] == "value")
    }

    @Test func `data of later rules goes on after a rollback, in replays too`() throws {
      func rules(_ version: Int, _ member: String, _ steps: String = "") -> String {
        """
        plugin { name = "keeps" }
        state { version = \(version), \(member) = "integer?" }
        \(steps)
        rule "join" { on = "joined", run = function(event, state)
          state.\(member) = (state.\(member) or 0) + 1
          decide("n", state.\(member))
        end }
        rule "clear" { on = "cleared", run = function() forget { past = true } end }
        """
      }
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": rules(1, "n")], manualClock: true)
      let client = try daemon.client()
      for _ in 0..<3 { try client.event("joined", "user:1") }
      let steps = """
        migrate { [2] = {
          up = function(old) old.m = old.n old.n = nil return old end,
          down = function(new) new.n = new.m new.m = nil return new end,
        } }
        """
      daemon.folder.replace("rules/keeps/plugin.lua", with: rules(2, "m", steps))
      _ = try client.call("reload")
      for type in ["cleared", "joined"] { try client.event(type, "user:1") }
      _ = try client.call("rollback")
      #expect(try client.event("joined", "user:1")["decisions"]?["keeps"]?["n"] == 5)
      daemon.folder.replace("rules/keeps/plugin.lua", with: rules(1, "n"))
      let run = tool(daemon, "backtest", "\(daemon.folder.path)/rules", "--json", "--fail-on", "changed > 0")
      let report = try JSONValue(parsing: run.output)
      #expect(run.code == 0 && report["outcomes"]?["equal"] == 2, "\(report)")
      #expect(report["failures"] == ["before": 0, "after": 0, "kinds": []], "\(report)")
    }

    @Test func `watchers hear that the past is gone and what version stays, also after a kill`() throws {
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": Self.rules], manualClock: true)
      try started(try daemon.client())
      let last = try daemon.client().call("log")["last"]?.intValue ?? 0
      try daemon.client().event("cleared", "user:1", with: ["wait": "cascade"])
      func changes() throws -> [JSONValue?] {
        let client = try daemon.client()
        _ = try client.call("watch", ["after": .integer(last), "subject": "user:1"])
        var found: [JSONValue?] = []
        while found.last != "ruled.kept" {
          let change = try JSONValue(parsing: try #require(client.line()))["params"]
          found += [change?["version"], change?["event"]?["type"]]
        }
        return found
      }
      let lived = try changes()
      #expect(lived == [0, "ruled.forgotten", 42, "ruled.kept"])
      daemon.end(SIGKILL)
      try daemon.start()
      let read = try changes()
      #expect(read == [0, "ruled.forgotten", 42, "ruled.kept"])
    }

    @Test func `a kill while pasts are erased leaves all of each or nothing`() throws {
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": Self.rules])
      let client = try daemon.client()
      let subjects = (0..<200).map { "user:\($0)" }
      for subject in subjects { try client.event("joined", subject, ["name": "x"]) }
      for subject in subjects {
        client.send(
          #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"cleared","subject":"\#(subject)"}}"# + "\n")
      }
      _ = client.line()
      daemon.end(SIGKILL)
      try daemon.start()
      let after = try daemon.client()
      var cleared = 0
      for subject in subjects {
        let name: JSONValue = .string(subject)
        let export = try after.call("export", ["subject": name])
        let origins = try after.call("log", ["subject": name])["entries"]?.arrayValue?.map { $0["origin"] }
        let isCleared = export["plugins"]?["keeps"]?["cleared"] == true
        #expect(export["events"]?.arrayValue?.count == (isCleared ? 0 : 1), "\(subject)")
        #expect(export["effects"]?.arrayValue?.count == (isCleared ? 0 : 2), "\(subject)")
        #expect(origins == (isCleared ? ["forget", "kept"] : ["client"]), "\(subject)")
        cleared += isCleared ? 1 : 0
      }
      #expect(cleared > 0)
    }

    @Test func `no file of the store has the past once it was erased, and replays begin behind it`() throws {
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": Self.rules], manualClock: true)
      var client = try daemon.client()
      try started(client)
      _ = try client.call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      client = try daemon.client()
      try client.event("cleared", "user:1", ["name": .string(Self.marker)], with: ["wait": "cascade"])
      // The start after a day takes a snapshot, which shares the store's files.
      _ = try client.call("clock", ["advance": "2d"])
      try client.event("looked", "user:1", with: ["id": "look"])
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      #expect(try daemon.client().call("journal")["snapshots"]?.arrayValue?.count == 2)
      #expect(daemon.end(SIGTERM) == 0)
      #expect(!TemporaryFolder.files(below: daemon.store, holding: Self.marker).isEmpty)
      let journal = Journal(of: daemon.store, settings: Configuration.Journal())
      let store = try RocksStore(path: daemon.store, journal: journal)
      try journal.erase(from: store) { true }
      #expect(TemporaryFolder.files(below: daemon.store, holding: Self.marker) == [])
      try store.close()
      let past = try RecordedPast(store: daemon.store)
      #expect(past.entries.contains { $0.origin == .forget && $0.subject.isEmpty })
      #expect(past.entries.contains { $0.origin == .kept && $0.subject == "user:1" })
      #expect(try past.difference() == nil)
      try daemon.start()
      client = try daemon.client()
      let explained = try client.call("explain_past", ["subject": "user:1", "id": "look"])
      #expect(explained["differs"] == nil)
      for (version, score) in [(42, 40), (explained["outcome"]?["version"]?.intValue ?? 0, 1)] as [(Int64, Int)] {
        let state = try client.call("state", ["subject": "user:1", "version": .integer(version)])
        #expect(state["boards"]?[0]?["score"]?.intValue == Int64(score), "the board's time was over: \(state)")
      }
      #expect(try client.call("state", ["subject": "user:1", "version": 42])["plugins"]?["keeps"]?["n"] == 40)
    }
  }
}
