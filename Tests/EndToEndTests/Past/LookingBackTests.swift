import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// Looking back on a real daemon: past events explained, states compared, incidents captured as tests.
  @Suite struct LookingBackTests {
    private static let game = """
      plugin { name = "game", version = "1", settings = { earned = 10, at = 100 }, sinks = { "push" } }
      rule "play" { on = "played", run = function(event, state)
        topic.join("players")
        state.points = (state.points or 0) + settings.earned
        state.mail = event.data.mail or state.mail
        decide("points", state.points)
        decide("stamp", now())
        if state.points >= settings.at and once("bonus") then
          emit("push", "bonus", { to = event.subject, friend = event.data.friend })
          send("user:boss", "reached", { by = event.subject })
          timer.set("later", now() + 60, "later", {})
        end
      end }
      rule "later" { on = "later", run = function(event, state) state.later = true decide("late", state.points) end }
      rule "reached" { on = "reached", run = function(event, state)
        state.seen = (state.seen or 0) + 1
        decide("seen", state.seen)
        decide("by", event.data.by)
      end }

      """
    private static let mate = """
      plugin { name = "mate", version = "1" }
      rule "count" { on = "played", run = function(event, state) state.n = (state.n or 0) + 1 decide("n", state.n) end }

      """
    private static let configuration = """
      journal = { keep = "7d", max_gib = 1, snapshot = "1d" }
      plugins = { game = { earned = 15, at = 30 } }

      """

    /// A daemon with three events of `user:anna`, a message to `user:boss` and a timer; the clock has microseconds.
    private static func daemon() throws -> RuledDaemon {
      let daemon = try RuledDaemon(
        rules: ["game/plugin.lua": game, "mate/plugin.lua": mate], manualClock: true, configuration: configuration)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00.123456Z"])
      for number in 1...3 {
        let data: JSONValue = ["mail": "anna@example.org", "friend": "user:ben", "note": "a long text"]
        _ = try client.event("played", "user:anna", data, with: ["id": .string("e\(number)"), "wait": "cascade"])
        _ = try client.call("clock", ["advance": "10s"])
      }
      _ = try client.call("clock", ["advance": "2m"])
      _ = try client.event("played", "user:anna", [:], with: ["id": "e4"])
      return daemon
    }

    private func tool(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    @Test func `a state of a time before which the clock went back has the events after that, too`() throws {
      let daemon = try RuledDaemon(
        rules: ["mate/plugin.lua": Self.mate], manualClock: true, configuration: Self.configuration)
      let client = try daemon.client()
      for (time, id) in [("12:04:00", "e1"), ("12:05:00", "e2"), ("12:04:59", "e3")] {
        _ = try client.call("clock", ["set": .string("2040-01-01T\(time)Z")])
        _ = try client.event("played", "user:anna", [:], with: ["id": .string(id)])
      }
      let state = try client.call("state", ["subject": "user:anna", "at": "2040-01-01T12:04:59Z"])
      #expect(state["version"] == 3 && state["plugins"]?["mate"]?["n"] == 3)
    }

    @Test func `a past event is explained with the rules, settings and state of then, beside other rules`() throws {
      let daemon = try Self.daemon()
      var client = try daemon.client()
      let id = try #require(try client.call("log", ["subject": "user:boss"])["entries"]?[0]?["event"]?["id"])
      let recorded = try client.call("log", ["subject": "user:anna"])["entries"]?[1]
      // The present rules, settings and store make no difference.
      daemon.folder.replace("rules/game/plugin.lua", with: Self.game.replacing("decide(\"stamp\", now())", with: ""))
      daemon.folder.replace("ruled.conf.lua", with: "journal = { keep = '7d' }")
      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      let past = try client.call("explain_past", ["subject": "user:anna", "id": "e2"])
      #expect(past["origin"] == "client" && past["at"] == "2040-01-01T00:00:10.123456Z")
      #expect(past["state"]?["game"] == ["points": 15, "mail": "anna@example.org"])
      #expect(past["outcome"]?["decisions"] == recorded?["decisions"])
      #expect(past["outcome"]?["effects"] == recorded?["effects"])
      #expect(past["outcome"]?["revision"] == recorded?["revision"] && past["revision"] == recorded?["revision"])
      // A cluster goes on with the rules that its log has.
      #expect((try client.call("health")["revision"] == past["revision"]) == RuledDaemon.isCluster)
      let fired = past["outcome"]?["trace"]?.arrayValue?.filter { $0["fired"] == true }.compactMap { $0["rule"] }
      #expect(fired == ["play", "count"])
      let message = try client.call("explain_past", ["subject": "user:boss", "id": id])
      #expect(message["origin"] == "message" && message["outcome"]?["decisions"]?["game"]?["by"] == "user:anna")
      #expect(message["state"] == [:])

      let rules: JSONValue = [
        "library": [],
        "plugins": [
          [
            "name": "game", "data": [],
            "modules": [
              ["path": "game/plugin.lua", "text": .string(Self.game.replacing("+ settings", with: "+ 2 * settings"))]
            ],
          ]
        ],
      ]
      let beside = try client.call("explain_past", ["subject": "user:anna", "id": "e1", "rules": rules])
      #expect(beside["outcome"]?["decisions"]?["game"]?["points"] == 15)
      #expect(beside["other"]?["outcome"]?["decisions"]?["game"]?["points"] == 20)
      #expect(beside["other"]?["outcome"]?["decisions"]?["mate"] == nil)
      #expect(beside["other"]?["revision"] != beside["revision"])
      let changes = beside["other"]?["changes"]?.arrayValue
      #expect(changes?.contains(["path": "plugins.game.points", "before": 15, "after": 20]) == true)
      let bare = try client.call("explain_past", ["subject": "user:anna", "id": "e2", "no_values": true])
      #expect(bare["state"] == nil && bare["outcome"]?["decisions"] == recorded?["decisions"])
      #expect(past["outcome"]?["trace"]?.text.contains("\"values\":{") == true)
      #expect(bare["outcome"]?["trace"]?.text.contains("\"reads\":[\"state.") == true)
      #expect(bare["outcome"]?["trace"]?.text.contains("\"values\"") == false)
      for (params, code) in [
        (["subject": "user:anna", "id": "e9"], "not_found"), (["subject": "nobody", "id": "e1"], "not_found"),
        (["subject": "user:anna"], "invalid_params"),
        (["subject": "user:anna", "id": "e1", "rules": [:]], "invalid_params"),
        (["subject": "user:anna", "id": "e1", "rules": ["plugins": [["name": "../x"]]]], "invalid_params"),
      ] as [(JSONValue, JSONValue)] {
        #expect(try client.failure("explain_past", params)["data"]?["code"] == code, "\(params.text)")
      }
    }

    @Test func `rulectl explains a past event, and shows the changes between versions`() throws {
      let daemon = try Self.daemon()
      daemon.folder.write("next/game/plugin.lua", Self.game.replacing(">= settings.at", with: ">= 15"))
      let explained = tool(daemon, "explain", "user:anna", "e1", "--rules", daemon.folder("next"))
      #expect(explained.code == 0)
      for part in [
        "as it was", "as it would have been", "● play", "points  15", "bonus", "they differ\n",
      ] {
        #expect(explained.output.contains(part), "\(part): \(explained.output)")
      }
      #expect(!explained.output.contains("dry run"))
      let bare = tool(daemon, "explain", "user:anna", "e2", "--no-values")
      #expect(bare.code == 0 && bare.output.contains("reads state.points") && !bare.output.contains("state before"))
      let missing = tool(daemon, "explain", "user:anna", "e9")
      #expect(missing.code == 1 && missing.output.contains("'rulectl log' lists"))

      let diff = try JSONValue(parsing: tool(daemon, "diff", "user:anna", "1", "4", "--json").output)
      #expect(
        diff["changes"] == [
          ["path": "game.later", "after": true], ["path": "game.points", "before": 15, "after": 45],
          ["path": "mate.n", "before": 1, "after": 3],
        ])
      let whole = try JSONValue(parsing: tool(daemon, "diff", "user:boss", "0", "1", "--json").output)
      #expect(whole["changes"] == [["path": "game", "after": ["seen": 1]]])
      #expect(tool(daemon, "diff", "user:anna", "2", "2").output == "nothing changed\n")
      #expect(tool(daemon, "diff", "user:anna", "1", "99").code == 1)
      #expect(tool(daemon, "diff", "user:anna", "1", "x").code == 2)
      let state = try daemon.client().call("state", ["subject": "user:anna", "at": "2040-01-01T00:00:15Z"])
      #expect(state["version"] == 2 && state["plugins"]?["game"]?["points"] == 30)
    }

    @Test func `captured tests pass under the rules that they were captured from, and fail under others`() throws {
      let daemon = try Self.daemon()
      for (name, subject) in [("anna", "user:anna"), ("boss", "user:boss")] {
        for options in [[], ["--anonymize"]] {
          let words = ["--socket", daemon.socket, "capture", subject] + options
          let captured = Program.run("\(RuledDaemon.programs)/rulectl", words)
          #expect(captured.code == 0 && !captured.output.contains("recorded"), "\(captured.output)")
          // The test expects the recorded outcomes, with microseconds, settings and the consequences of events.
          #expect(captured.output.contains("t:settings({ at = 30, earned = 15 }, \"game\")"), "\(captured.output)")
          #expect(captured.output.contains("t:at(\"2040-01-01T00:00:10.123456Z\")"))
          if name == "boss" {
            #expect(captured.output.contains("t:equal(t:decided(\"user:boss\"), { game = { seen = 1, by = \"user:"))
          } else {
            #expect(captured.output.contains("stamp = 2208988820.123456"))
            #expect(captured.output.contains("late = 45"))
          }
          for personal in ["anna", "ben", "example.org", "long"] where !options.isEmpty {
            #expect(!captured.output.contains(personal), "\(personal) in \(captured.output)")
          }
          // Tests of one plugin play in those of another, too.
          daemon.folder.write("rules/\(options.isEmpty ? "game" : "mate")/tests/\(name).lua", captured.output)
        }
      }
      let passed = Program.run("\(RuledDaemon.programs)/rulectl", ["test", daemon.folder("rules")])
      #expect(passed.code == 0 && passed.output.contains("4 tests passed"), "\(passed.output)")
      daemon.folder.replace("rules/game/plugin.lua", with: Self.game.replacing("(state.seen or 0) + 1", with: "7"))
      let failed = Program.run("\(RuledDaemon.programs)/rulectl", ["test", daemon.folder("rules")])
      #expect(failed.code == 1 && failed.output.contains("2 tests passed, 2 failed"), "\(failed.output)")
      #expect(tool(daemon, "capture", "user:nobody").code == 1)
      let since = tool(daemon, "capture", "user:anna", "--since", "1m").output
      #expect(since.contains("t:given(\"user:anna\", ") && !since.contains("id = \"e2\""), "\(since)")
      #expect(since.contains("topics = array { \"game/players\" }"), "\(since)")
    }

    @Test func `of events of one millisecond, a captured test has each with its message`() throws {
      let rules = """
        plugin { name = "pairs" }
        rule "a" { on = "a", run = function(event) send("user:b", "b", { n = event.data.n }) end }
        rule "b" { on = "b", run = function(event, state)
          state.n = (state.n or 0) * 10 + event.data.n
          decide("none", event.data.none)
        end }

        """
      let daemon = try RuledDaemon(rules: ["pairs/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      for n in 1...4 { _ = try client.event("a", "user:a", ["n": .integer(Int64(n))]) }
      let isThere = try eventually {
        try client.reply("state", ["subject": "user:b"])["result"]?["plugins"]?["pairs"]?["n"] == 1234
      }
      #expect(isThere)
      let captured = tool(daemon, "capture", "user:b")
      for n in 1...4 { #expect(captured.output.contains("n = \(n)"), "\(captured.output)") }
      #expect(captured.output.contains("none = json.null"), "\(captured.output)")
      daemon.folder.write("rules/pairs/tests/b.lua", captured.output)
      let passed = Program.run("\(RuledDaemon.programs)/rulectl", ["test", daemon.folder("rules")])
      #expect(passed.code == 0, "\(passed.output)")
    }

    @Test func `a captured test sends a message by its event if its sender had others in that millisecond`() throws {
      let rules = """
        plugin { name = "pay" }
        event "paid" { from = "rules", cents = "integer" }
        rule "pay" { on = "pays", run = function(event) send(event.data.to, "paid", { cents = event.data.cents }) end }
        rule "paid" { on = "paid", run = function(event, state)
          state.sum = (state.sum or 0) + event.data.cents
          decide("sum", state.sum)
          send(event.sender, "thanked")
        end }
        rule "thanked" { on = "thanked", run = function(event, state) state.n = (state.n or 0) + 1 end }

        """
      let daemon = try RuledDaemon(rules: ["pay/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      for cents in [70, 50] as [JSONValue] {
        try client.event("pays", "user:a", ["to": "user:b", "cents": cents], with: ["wait": "cascade"])
      }
      for options in [[], ["--anonymize"]] {
        let captured = Program.run(
          "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "capture", "user:b"] + options)
        for no in ["recorded", "sent as an event", "t:failures"] {
          #expect(!captured.output.contains(no), "\(no) in \(captured.output)")
        }
        daemon.folder.write("rules/pay/tests/b\(options.count).lua", captured.output)
      }
      let passed = tool(daemon, "test", daemon.folder("rules"))
      #expect(passed.code == 0 && passed.output.contains("2 tests passed"), "\(passed.output)")
      // Without the sender's events, the message is one without a sender, and both tests say so.
      _ = try client.call("forget", ["subject": "user:a"])
      for options in [[], ["--anonymize"]] {
        let captured = Program.run(
          "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "capture", "user:b"] + options)
        for note in ["-- a message, sent as an event", "the rules decide otherwise than recorded"] {
          #expect(captured.output.contains(note), "\(note) in \(captured.output)")
        }
        #expect(captured.output.contains("user:a") == options.isEmpty, "\(captured.output)")
      }
    }

    @Test func `a captured test expects what follows from another subject's answer`() throws {
      let rules = """
        plugin { name = "shop", sinks = { "push" } }
        rule "ask" { on = "ask", run = function() send("user:b", "asked") decide("asks", true) end }
        rule "asked" { on = "asked", run = function(event, state)
          state.n = (state.n or 0) + 1
          if event.sender then send(event.sender, "told", { n = state.n }) end
        end }
        rule "told" { on = "told", run = function(event)
          if event.data.n % 2 == 0 then send("user:b", "asked") send(event.subject, "noted") else decide("n", event.data.n) end
        end }
        rule "noted" { on = "noted", run = function() emit("push", "note", {}) end }

        """
      let daemon = try RuledDaemon(rules: ["shop/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      _ = try client.event("asked", "user:b")
      _ = try client.call("clock", ["advance": "1s"])
      _ = try client.event("ask", "user:a", [:], with: ["wait": "cascade"])
      let captured = tool(daemon, "capture", "user:a")
      #expect(captured.code == 0 && !captured.output.contains("recorded"), "\(captured.output)")
      for part in ["n = 3", "\"note\""] { #expect(captured.output.contains(part), "\(captured.output)") }
      daemon.folder.write("rules/shop/tests/a.lua", captured.output)
      let passed = tool(daemon, "test", daemon.folder("rules"))
      #expect(passed.code == 0, "\(passed.output)")
    }

    @Test func `an anonymized test has nothing of events and states but words of the rules and kept values`() throws {
      let rules = """
        plugin { name = "calls" }
        rule "call" { on = "called", run = function(event, state)
          state.phone = event.data.phone
          state.seen = now()
          decide("card", event.data.card)
          decide("gold", event.data.plan == "gold")
          decide("name", event.data.name)
        end }

        """
      let daemon = try RuledDaemon(rules: ["calls/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2030-11-25T00:00:00Z"])
      let personal: JSONObject = [
        "phone": -4_915_112_345_678, "other": "030/1234567", "card": "4111111111111111", "name": "Rosalind", "age": 37,
        "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.dBjftJeZ4CVP", "born": "1987-03-14", "since": 1_064_000_000,
        "home": ["lat": 52.520008, "of Edith": "Main Street 15"], "plan": "silver-plus", "address": "10.1.2.3",
      ]
      var data = personal
      for (name, value) in ["at": 1_921_795_200, "day": "2030-11-24", "points": 1_250, "tier": "gold", "left": 3]
        as JSONObject
      {
        data[name] = value
      }
      let trace: JSONValue = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      for _ in 1...2 {
        _ = try client.event(
          "called", "user:anna", .object(data),
          with: ["source": "/phones/of-anna", "traceparent": trace, "tracestate": "a=anna", "caller": "Winifred"])
        _ = try client.call("clock", ["advance": "1h"])
      }
      let words = ["capture", "user:anna", "--anonymize", "--keep", "data.points", "--since"]
      for since in ["1d", "90m"] {
        let command = ["--socket", daemon.socket] + words + [since]
        let captured = Program.run("\(RuledDaemon.programs)/rulectl", command)
        #expect(captured.code == 0)
        let texts = personal.flatMap { member -> [String] in
          let members = member.value.objectValue.map { Array($0) } ?? [member]
          return members.map { $0.value.stringValue ?? "= \($0.value.text)" }
        }
        for text in texts + [
          "anna", "4bf92f3577b34da6", "00f067aa0ba902b7", "Edith", "Winifred", "eyJ", "4915112345678",
        ] {
          #expect(!captured.output.contains(text), "\(text) in \(captured.output)")
        }
        for kept in ["1921795200", "2030-11-24", "1250", "\"gold\"", "= 3", "gold = false"] {
          #expect(captured.output.contains(kept), "\(kept) in \(captured.output)")
        }
        daemon.folder.write("rules/calls/tests/anna_\(since).lua", captured.output)
      }
      let passed = tool(daemon, "test", daemon.folder("rules"))
      #expect(passed.code == 0 && passed.output.contains("2 tests passed"), "\(passed.output)")
      #expect(tool(daemon, "capture", "user:anna", "--keep", "data.points").code == 2)
      let kept = tool(daemon, "capture", "user:anna", "--anonymize", "--keep", "data.points")
      #expect(kept.code == 0 && !kept.output.contains("keeps nothing"), "\(kept.output)")
    }

    @Test func `an anonymized timer has another source, which the plugin takes`() throws {
      let rules = """
        plugin { name = "ticks", sources = { "app/*" } }
        rule "start" { on = "started", run = function(event, state)
          state.from = event.source
          timer.every("tick", { seconds = 60 }, "ticked")
        end }
        rule "tick" { on = "ticked", run = function(event, state)
          state.n = (state.n or 0) + 1
          decide("n", state.n)
          decide("same", state.from == event.source)
        end }

        """
      let daemon = try RuledDaemon(rules: ["ticks/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      _ = try client.event("started", "car:7", [:], with: ["source": "app/ida@example.org"])
      for _ in 1...3 { _ = try client.call("clock", ["advance": "60s"]) }
      let captured = tool(daemon, "capture", "car:7", "--anonymize", "--since", "90s")
      #expect(captured.code == 0 && !captured.output.contains("ida"), "\(captured.output)")
      for kept in ["source = \"app/source-1\"", "from = \"app/source-1\"", "n = 3, same = true"] {
        #expect(captured.output.contains(kept), "\(kept) in \(captured.output)")
      }
      daemon.folder.write("rules/ticks/tests/a.lua", captured.output)
      #expect(tool(daemon, "test", daemon.folder("rules")).code == 0)
    }

    @Test func `an anonymized source is one that the plugins' patterns take`() throws {
      let rules = { (name: String, source: String) in
        """
        plugin { name = "\(name)", sources = { "\(source)" } }
        rule "arrive" { on = "arrived", run = function(_, state) state.n = (state.n or 0) + 1 decide("n", state.n) end }

        """
      }
      let daemon = try RuledDaemon(
        rules: ["a/plugin.lua": rules("a", "sensor/*"), "b/plugin.lua": rules("b", "*/gate/*")])
      let client = try daemon.client()
      for source in ["sensor/ida", "ida/gate/9", "elsewhere/ida"] {
        _ = try client.event("arrived", "car:7", [:], with: ["source": .string(source)])
      }
      let captured = Program.run(
        "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "capture", "car:7", "--anonymize"])
      #expect(captured.code == 0 && !captured.output.contains("ida"), "\(captured.output)")
      for kept in ["sensor/source-1", "source-2/gate/source-2", "\"/source-3\"", "a = { n = 1 }", "b = { n = 1 }"] {
        #expect(captured.output.contains(kept), "\(kept) in \(captured.output)")
      }
      daemon.folder.write("rules/a/tests/a.lua", captured.output)
      #expect(tool(daemon, "test", daemon.folder("rules")).code == 0)
      for path in ["source", "event.source", "nonsense.path"] {
        let refused = tool(daemon, "capture", "car:7", "--anonymize", "--keep", path)
        #expect(refused.code == 2 && refused.output.contains("is no path that can stay"), "\(path): \(refused.output)")
      }
      for path in ["data.plan", "state.a.n", "caller"] {
        let kept = tool(daemon, "capture", "car:7", "--anonymize", "--keep", path)
        #expect(kept.code == 0 && kept.output.contains("--keep \(path) keeps nothing"), "\(kept.output)")
      }
    }

    @Test func `an incident of a timer is captured with the timers and once keys of then, and expects effects`() throws
    {
      let rules = """
        plugin { name = "nag", sinks = { "push" } }
        rule "join" { on = "joined", run = function(event)
          if once("nag") then timer.set("nag:" .. event.data.who, now() + 3600.25, "nagged", { who = event.data.who }) end
        end }
        rule "nag" { on = "nagged", run = function(event, state)
          state.n = (state.n or 0) + 1
          emit("push", "nag", { who = event.data.who, id = uuid(), currency = "EUR" })
          if once("again") then timer.set("nag:" .. event.data.who, now() + 3600, "nagged", { who = event.data.who }) end
        end }

        """
      let daemon = try RuledDaemon(rules: ["nag/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00.123456Z"])
      _ = try client.event("joined", "user:anna", ["who": "Rosalind"])
      _ = try client.call("clock", ["advance": "3h"])
      let past = try client.call("state", ["subject": "user:anna", "version": 1])
      let timer = past["timers"]?.arrayValue?.first
      #expect(timer?["name"] == "nag:Rosalind" && timer?["due"] == "2040-01-01T01:00:00.373Z")
      #expect(past["once"]?.arrayValue?.count == 1 && past["effects"] == nil)
      #expect(try client.call("state", ["subject": "user:anna", "version": 3])["timers"] == [])
      for options in [[], ["--anonymize"]] {
        let words = ["--socket", daemon.socket, "capture", "user:anna", "--since", "150m"] + options
        let captured = Program.run("\(RuledDaemon.programs)/rulectl", words)
        #expect(captured.code == 0 && !captured.output.contains("recorded"), "\(captured.output)")
        for expected in [
          "  t:captured()\n", "timers = array {", "once = array {", ", 1), array { {", ", 2), array { {", "EUR",
        ] {
          #expect(captured.output.contains(expected), "\(expected) in \(captured.output)")
        }
        #expect(captured.output.contains("Rosalind") == options.isEmpty)
        daemon.folder.write("rules/nag/tests/\(options.isEmpty ? "plain" : "other").lua", captured.output)
      }
      let passed = tool(daemon, "test", daemon.folder("rules"))
      #expect(passed.code == 0 && passed.output.contains("2 tests passed"), "\(passed.output)")
      daemon.folder.replace("rules/nag/plugin.lua", with: rules.replacing("EUR", with: "USD"))
      let failed = tool(daemon, "test", daemon.folder("rules"))
      #expect(failed.code == 1, "\(failed.output)")
      #expect(failed.output.contains("first [1].data.currency: expected \"EUR\", got \"USD\""), "\(failed.output)")
    }

    @Test func `a captured test without a rule that runs is no success`() throws {
      let daemon = try Self.daemon()
      _ = try daemon.client().event("nobody.hears", "user:carl", [:])
      let captured = tool(daemon, "capture", "user:carl")
      #expect(captured.code == 1 && captured.output.contains("no rule runs"), "\(captured.output)")
    }

    @Test(arguments: [[], ["--anonymize"]])
    func `a captured test plays what was parked and retried, on events and on messages`(options: [String]) throws {
      let broken = Self.mate.replacing(
        "state.n =",
        with: "if event.data.bad and not state.knows then error('bad is not known') end state.knows = true state.n =")
      let game = Self.game.replacing(
        "rule \"reached\" { on = \"reached\", run = function(event, state)",
        with:
          "rule \"reached\" { on = \"reached\", run = function(event, state) if settings.at == 30 then error('no') end")
      let daemon = try RuledDaemon(
        rules: ["game/plugin.lua": game, "mate/plugin.lua": broken], manualClock: true,
        configuration: Self.configuration)
      let client = try daemon.client()
      func retry(_ plugin: String) throws { _ = try client.call("retry", ["plugin": .string(plugin)]) }
      for number in 1...3 {
        let data: JSONValue = number == 1 ? ["bad": true] : [:]
        _ = try client.event("played", "user:anna", data, with: ["id": .string("e\(number)"), "wait": "cascade"])
        _ = try client.call("clock", ["advance": "10s"])
      }
      // The plugin fails on the first event, and by itself no more after the second one; the game on a message, until its rules are mended.
      try retry("mate")
      daemon.folder.replace("rules/game/plugin.lua", with: Self.game)
      _ = try client.call("reload")
      _ = try client.call("clock", ["advance": "10s"])
      #expect(try eventually { try client.call("parked")["parked"] == [] })
      _ = try client.event("played", "user:anna", [:], with: ["id": "e4"])
      let origins = ["user:anna", "user:boss"].map { subject in
        (try? client.call("log", ["subject": .string(subject)]))?["entries"]?.arrayValue?.compactMap {
          $0["origin"]?.stringValue
        }
      }
      #expect(origins == [["client", "client", "client", "retry", "client"], ["message", "retry"]])
      for (name, subject) in [("anna", "user:anna"), ("boss", "user:boss")] {
        let words = ["--socket", daemon.socket, "capture", subject] + options
        let captured = Program.run("\(RuledDaemon.programs)/rulectl", words)
        #expect(captured.code == 0 && !captured.output.contains("recorded"), "\(captured.output)")
        #expect(captured.output.contains("t:retry(\"user:"), "\(captured.output)")
        daemon.folder.write("rules/mate/tests/\(name).lua", captured.output)
      }
      let passed = tool(daemon, "test", daemon.folder("rules"))
      #expect(passed.code == 0 && passed.output.contains("2 tests passed"), "\(passed.output)")
    }

    @Test func `the store of a stopped daemon is backtested, with some plugins, and on a share of the subjects`() throws
    {
      let daemon = try Self.daemon()
      let client = try daemon.client()
      for number in 0..<40 { _ = try client.event("played", "user:\(number)", ["friend": "x"]) }
      daemon.folder.write("next/game/plugin.lua", Self.game.replacing("+ settings", with: "+ 2 * settings"))
      daemon.folder.write("next/mate/plugin.lua", Self.mate.replacing("+ 1", with: "+ 2"))
      func backtest(_ words: String...) throws -> JSONValue {
        let base = ["--socket", daemon.socket, "backtest", daemon.folder("next"), "--json"]
        let run = Program.run("\(RuledDaemon.programs)/rulectl", base + words)
        #expect(run.code == 0, "\(run.output)")
        return try JSONValue(parsing: run.output)
      }
      func changed(_ report: JSONValue) -> Set<String> {
        let decisions = report["decisions"]?.arrayValue ?? []
        return Set(decisions.filter { $0["changed"] != 0 }.compactMap { $0["plugin"]?.stringValue })
      }
      let live = try backtest()
      #expect(changed(live) == ["game", "mate"])
      #expect(live["fidelity"]?["equal"] == live["fidelity"]?["replayed"])
      #expect(changed(try backtest("--plugins", "mate")) == ["mate"])
      let (some, again) = (try backtest("--sample", "50%"), try backtest("--sample", "50%"))
      #expect(some == again)
      #expect((8...32).contains(some["subjects"]?.intValue ?? 0), "\(some["subjects"]?.text ?? "")")
      #expect(some["fidelity"]?["equal"] == some["fidelity"]?["replayed"])
      #expect(try backtest("--subjects", "user:1")["subjects"] == 11)

      #expect(daemon.end(SIGTERM) == 0)
      let stopped = try backtest("--store", daemon.store)
      #expect(stopped == live)
      #expect(
        changed(try backtest("--store", daemon.store, "--plugins", "mate")) == ["mate"])
      let nowhere = Program.run(
        "\(RuledDaemon.programs)/rulectl", ["backtest", daemon.folder("next"), "--store", daemon.folder("none")])
      #expect(nowhere.code != 0 && nowhere.output.contains("there is no journal"), "\(nowhere.output)")
    }
  }
}
