import Glibc
import RuledCore
import RuledJSON
import RuledJournal
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// Parts of the past that a journal does not have any more, or not as they were: what is removed, redacted, forgotten.
  @Suite struct LostPastTests {
    private static let counting = """
      plugin { name = "counting" }
      rule "count" { on = "counted", run = function(event, state) state.n = (state.n or 0) + 1 decide("n", state.n) end }

      """

    /// How many bytes the files of a journal of 0.002 GiB have once the oldest are removed.
    private static let room: Int64 = 1_879_048

    private func tool(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    /// Sends events that take much room until the journal has removed the first ones.
    private func overfill(_ client: Client) throws -> JSONValue {
      var random = SeededRandom(seed: 7)
      for number in 0..<1_500 {
        _ = try client.call("clock", ["advance": "1s"])
        let text = (0..<900).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 36) }.joined()
        _ = try client.event("counted", "user:\(number % 7)", ["text": .string(text)])
        guard number % 20 == 19 else { continue }
        let journal = try client.call("journal")
        let bytes = try client.call("health")["journal"]?["bytes"]?.intValue ?? .max
        if journal["first"]?.intValue ?? 0 > 100, bytes <= Self.room { return journal }
      }
      return try client.call("journal")
    }

    @Test func `an event is explained as it was recorded, or it is said why not, though max_gib has removed others`()
      throws
    {
      let daemon = try RuledDaemon(
        rules: ["counting/plugin.lua": Self.counting], manualClock: true,
        configuration: "journal = { keep = '7d', max_gib = 0.002, snapshot = '1d' }")
      let client = try daemon.client()
      let first = try overfill(client)["first"]?.intValue ?? 0
      #expect(first > 100, "the journal has kept its beginning")
      let log = try client.call("log", ["limit": 10_000])
      let entries = log["entries"]?.arrayValue?.filter { $0["origin"] == "client" } ?? []
      let gap = log["gaps"]?.arrayValue?.first { $0["listed"] == true }
      // All say the same, once what is removed in the background is gone.
      #expect(
        try eventually {
          let gaps = try client.call("journal")["gaps"]
          let counted = try client.call("health")["journal"]?["gaps"]?.intValue
          let logged = try client.call("log", ["limit": 1])["gaps"]
          return logged == gaps && counted == gaps?.arrayValue.map { Int64($0.count) }
        })
      var explained = 0
      for entry in entries.enumerated().filter({ $0.offset % 15 == 0 }).map(\.element) + entries.suffix(1) {
        let sequence = entry["sequence"]?.intValue ?? 0
        let params: JSONValue = ["subject": entry["subject"] ?? .null, "id": entry["event"]?["id"] ?? .null]
        if sequence <= gap?["last"]?.intValue ?? 0 {
          let failure = try client.failure("explain_past", params)
          #expect(failure["message"]?.stringValue?.contains("can't be replayed") == true, "\(failure.text)")
        } else {
          let past = try client.call("explain_past", params)
          #expect(past["outcome"]?["decisions"] == entry["decisions"] && past["differs"] == nil, "\(past.text)")
          explained += 1
        }
      }
      #expect(explained > 0)
      let last = try #require(entries.last)
      let version = last["version"]?.intValue ?? 0
      let (subject, words) = (last["subject"]?.stringValue ?? "", ["\(version - 1)", "\(version)"])
      let diff = tool(daemon, "diff", subject, words[0], words[1])
      #expect(diff.code == 0 && diff.output.contains("counting.n"), "\(diff.output)")

      daemon.folder.write("next/counting/plugin.lua", Self.counting)
      let all = tool(daemon, "backtest", daemon.folder("next"), "--json", "--fail-on", "changed > 0")
      let report = try JSONValue(parsing: all.output.split(separator: "\n").first.map(String.init) ?? "")
      #expect(all.code == 0 && report["events"]?.intValue ?? 0 > 0, "\(all.output)")
      #expect(report["fidelity"]?["equal"] == report["fidelity"]?["replayed"])
      let shown = report["gaps"]?.arrayValue?.first { $0["listed"] == true }
      #expect(shown?["last"] == gap?["last"])
      let begin = try #require(entries.first?["at"]?.stringValue)
      let none = tool(daemon, "backtest", daemon.folder("next"), "--until", begin, "--fail-on", "changed > 0")
      #expect(gap == nil || none.code == 2 && none.output.contains("nothing can be replayed"), "\(none.output)")
      let gone = tool(daemon, "backtest", daemon.folder("next"), "--until", "1970-01-01T00:00:01Z")
      #expect(gone.code == 2 && gone.output.contains("has removed what was before"), "\(gone.output)")
      #expect(gap == nil || tool(daemon, "log", "--json", "--limit", "1").output.contains("can't replay"))
    }

    @Test func `a redacted event is explained with the recorded outcome beside that of its replay`() throws {
      let rules = """
        plugin { name = "mail" }
        rule "length" { on = "joined", run = function(event) decide("length", #event.data.mail) decide("to", "to " .. event.data.mail) end }

        """
      let daemon = try RuledDaemon(
        rules: ["mail/plugin.lua": rules], configuration: "journal = { redact = { 'mail' } }")
      let client = try daemon.client()
      _ = try client.event("joined", "user:1", ["mail": "eve@example.org"], with: ["id": "e1"])
      let entry = try client.call("log")["entries"]?.arrayValue?.last
      #expect(entry?["decisions"]?["mail"]?["length"] == 15)
      #expect(entry?.text.contains("eve@") == false, "\(entry?.text ?? "")")
      let past = try client.call("explain_past", ["subject": "user:1", "id": "e1"])
      #expect(past["outcome"]?["decisions"]?["mail"]?["length"] == 39)
      #expect(past["recorded"]?["decisions"] == entry?["decisions"])
      #expect(past["differs"]?.stringValue?.contains("mail was redacted") == true)
      #expect(past["redacted"] == ["mail"])
      let shown = tool(daemon, "explain", "user:1", "e1")
      #expect(shown.output.contains(", replayed\nmail was redacted: ") && !shown.output.contains("as it was"))
      #expect(shown.output.contains("this is not what was recorded: mail was redacted"), "\(shown.output)")
      #expect(shown.output.contains("- mail.length = 15") && shown.output.contains("+ mail.length = 39"))
    }

    @Test func `redacted values are not in the entries of messages, timers and retries that rules made of them`() throws
    {
      let rules = """
        plugin { name = "mail", sinks = { "push" } }
        rule "join" { on = "joined", run = function(event, state)
          local mail = event.data.mail
          state.mail = mail
          timer.set("later", now() + 60, "later", { to = mail, text = "hello " .. mail, [mail] = 1, plain = "hello" })
          timer.set("for " .. mail, now() + 61, "alone", { text = "hello" })
          send("user:other", "told", { about = { mail } })
          raise("inner", { who = mail })
        end }
        rule "later" { on = "later", run = function(event, state)
          emit("push", "mail", { address = event.data.to })
          send("user:other", "told", { about = event.data.text })
          decide("profile", { mail = state.mail })
        end }
        rule "told" { on = "told", run = function(event) decide("about", event.data.about) end }

        """
      let odd = """
        plugin { name = "odd" }
        rule "inner" { on = "inner", run = function(event, state)
          if now() < 2208988830 then error(event.data.who) end
          decide("who", event.data.who)
          decide("noted", event.redact ~= nil)
        end }

        """
      let daemon = try RuledDaemon(
        rules: ["mail/plugin.lua": rules, "odd/plugin.lua": odd], manualClock: true,
        configuration: "journal = { redact = { 'mail' } }")
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      _ = try client.event("joined", "user:1", ["mail": "eve@example.org"], with: ["id": "e1", "wait": "cascade"])
      _ = try client.call("clock", ["advance": "2m"])
      _ = try client.call("retry", ["plugin": "odd"])
      _ = try client.event("other", "user:1", [:], with: ["wait": "cascade"])
      var log = JSONValue.null
      // The message of the timer's event is applied later.
      #expect(
        try eventually {
          log = try client.call("log")
          return log["entries"]?.arrayValue?.count { $0["origin"] == "message" } == 2
        })
      let entries = (log["entries"]?.arrayValue ?? []).filter { $0["origin"] != "rules" }
      #expect(Set(entries.compactMap { $0["origin"]?.stringValue }) == ["client", "message", "timer", "retry"])
      #expect(!log.text.contains("eve@example.org"), "\(log.text)")
      #expect(entries.first { $0["origin"] == "retry" }?["decisions"]?["odd"]?["noted"] == false)
      let timer = entries.first { $0["origin"] == "timer" }
      #expect(timer?["redacted"] == ["mail", "text", "to"] || timer?["redacted"] == ["mail", "to", "text"])
      #expect(timer?["event"]?["data"]?["plain"] == "hello" && timer?["event"]?["redact"] == nil)
      let named = entries.last { $0["origin"] == "timer" }
      #expect(named?["timer"]?.stringValue?.hasPrefix("for sha256:") == true && named?["redacted"] == ["timer"])
      #expect(named?["event"]?["data"] == ["text": "hello"] && named?["event"]?["redact"] == nil)
      #expect(try client.call("export", ["subject": "user:1"])["effects"]?.text.contains("eve@example.org") == true)
    }

    @Test func `nothing of a forgotten subject is in any file of the store once it was erased`() throws {
      let marker = "marker-5f0c94e1d7a2"
      let rules = """
        plugin { name = "keeps", sinks = { "push" } }
        rule "keep" { on = "joined", run = function(event, state)
          state.name = event.data.name
          decide("name", "hello " .. event.data.name)
          emit("push", "hello", { name = event.data.name })
          once(event.data.name)
          topic.join("all")
          board.set("all", 1)
          timer.set("later", now() + 86400, "later", { name = event.data.name })
        end }

        """
      let daemon = try RuledDaemon(rules: ["keeps/plugin.lua": rules], manualClock: true)
      var client = try daemon.client()
      _ = try client.event("joined", "user:\(marker)", ["name": .string(marker)])
      _ = try client.event("joined", "user:other", ["name": "other"])
      _ = try client.call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      client = try daemon.client()
      _ = try client.call("forget", ["subject": .string("user:\(marker)")])
      // The start after a day takes a snapshot, which shares the store's files.
      _ = try client.call("clock", ["advance": "2d"])
      _ = try client.event("joined", "user:other", ["name": "other"])
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      #expect(try daemon.client().call("journal")["snapshots"]?.arrayValue?.count == 2)
      #expect(daemon.end(SIGTERM) == 0)
      #expect(!TemporaryFolder.files(below: daemon.store, holding: marker).isEmpty)
      let journal = Journal(of: daemon.store, settings: Configuration.Journal())
      let store = try RocksStore(path: daemon.store, journal: journal)
      try journal.erase(from: store) { true }
      #expect(TemporaryFolder.files(below: daemon.store, holding: marker) == [])
      try store.close()
      try daemon.start()
      #expect(try daemon.client().call("state", ["subject": "user:other"])["plugins"]?["keeps"]?["name"] == "other")
    }
  }
}
