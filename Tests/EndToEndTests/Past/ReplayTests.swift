import Glibc
import RuledCore
import RuledJSON
import RuledJournal
import RuledStore
import TestSupport
import Testing

extension EndToEnd {
  /// The proof of exact replay on the real daemon: the entries of its journal come out again, byte for byte.
  @Suite struct ReplayTests {
    private static func files(_ factor: Int) -> [String: String] {
      Dictionary(uniqueKeysWithValues: SeededTraffic.rules(factor: factor).map { ("\($0.key)/plugin.lua", $0.value) })
    }

    private static let configuration = "journal = { keep = '7d', snapshot = '10s' }"

    /// Some events over several connections at once; those with an id were sent before.
    private static func send(_ count: Int, _ random: inout SeededRandom, round: Int, _ daemon: RuledDaemon) {
      let seeds = (0..<3).map { _ in random.next() }
      Threads.run(3) { thread in
        var random = SeededRandom(seed: seeds[thread])
        guard let client = try? daemon.client() else { return }
        for index in 0..<count {
          let id = Int.random(in: 0..<10, using: &random) == 0 ? "\(round)-0-0" : "\(round)-\(thread)-\(index)"
          var event = SeededTraffic.event(&random, id: id, at: Timestamp(microseconds: 1_760_000_000_000_000))
          if Int.random(in: 0..<6, using: &random) == 0 { event["id"] = nil }
          if Int.random(in: 0..<4, using: &random) == 0 { event["wait"] = "cascade" }
          guard (try? client.reply("event", .object(event))) != nil else { return }
        }
      }
    }

    /// Leaves an entry of a message, of a timer and of a retry, however the threads of `send` take turns afterwards.
    ///
    /// Sets the clock, as some random events fail in every third second, others in every seventh.
    private static func sendOneOfEach(_ client: Client) throws {
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      let more: JSONObject = ["wait": "cascade"]
      let failing = try client.event("go", "user:sure", ["ops": [["op": "fail", "how": "odd"]]], with: more)
      #expect(failing["failures"]?[0]?["plugin"] == "actor")
      let operations: JSONValue = [
        ["op": "timer", "key": "a", "n": 1], ["op": "send", "to": "user:told", "n": 1],
      ]
      try client.event("go", "user:kept", ["ops": operations.arrayValue.map { .array($0 + [["op": "past"]]) } ?? []])
      try client.event("go", "user:sure", ["ops": operations], with: more)
      _ = try client.call("clock", ["advance": "1s"])
      #expect(try client.call("retry", ["plugin": "actor"])["succeeded"] == 1)
      for subject in ["user:sure", "user:told"] { try client.event("go", subject, ["ops": []], with: more) }
    }

    /// Tries rules on half of the subjects, over the rounds that follow.
    private static func startRollout(factor: Int, _ client: Client) throws {
      let plugins = SeededTraffic.rules(factor: factor).sorted { $0.key < $1.key }.map { name, text -> JSONValue in
        [
          "name": .string(name), "modules": [["path": .string("\(name)/plugin.lua"), "text": .string(text)]],
          "data": [],
        ]
      }
      let rules: JSONValue = ["library": [], "plugins": .array(plugins)]
      _ = try client.call("rollout_start", ["rules": rules, "percent": 50])
    }

    @Test(arguments: [3] as [UInt64])
    func `a seeded load with every feature, reloads, settings, forgets and kills replays exactly`(seed: UInt64) throws {
      var random = SeededRandom(seed: seed)
      let daemon = try RuledDaemon(rules: Self.files(1), manualClock: true, configuration: Self.configuration)
      try Self.sendOneOfEach(try daemon.client())
      for round in 0..<16 {
        Self.send(12, &random, round: round, daemon)
        var client = try daemon.client()
        switch round % 8 {
        case 0, 4:
          _ = try client.call("clock", ["advance": .string("\(Int.random(in: 1...40, using: &random))s")])
          if round % 8 == 4 { try Self.startRollout(factor: 5 + round, client) }
        case 1: _ = try client.call("retry", ["plugin": "actor"])
        case 2:
          let factor = Int.random(in: 1...4, using: &random)
          for (name, text) in Self.files(factor) { daemon.folder.replace("rules/\(name)", with: text) }
          _ = try client.call("reload")
        case 3: _ = try client.call("forget", ["subject": .string(SeededTraffic.subject(&random))])
        case 5:
          daemon.folder.replace(
            "ruled.conf.lua", with: Self.configuration + " plugins = { actor = { words = 'round \(round)' } }")
          _ = try client.call("health")
          daemon.signal(SIGHUP)
        case 6:
          daemon.end(SIGKILL)
          try daemon.start()
          client = try daemon.client()
        default:
          _ = try client.call("retry", ["plugin": "witness"])
          _ = try client.call(round < 8 ? "rollout_abort" : "rollout_promote")
        }
      }
      _ = try daemon.client().call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      let past = try RecordedPast(store: daemon.store)
      #expect(past.gaps.isEmpty)
      for origin in JournalEntry.Origin.allCases {
        #expect(past.entries.contains { $0.origin == origin }, "no entry of origin \(origin)")
      }
      #expect(past.entries.count > 300)
      let difference = try past.difference()
      #expect(difference == nil, "from the beginning: \(difference ?? "")")
      for snapshot in past.snapshots {
        let difference = try past.difference(after: snapshot)
        #expect(difference == nil, "from the snapshot after \(snapshot.sequence): \(difference ?? "")")
      }
      try expectMistakesShow(in: past)
    }

    @Test func `messages of an erased subject are replayed, also once its name is erased from the files`() throws {
      let daemon = try RuledDaemon(rules: Self.files(1), manualClock: true, configuration: Self.configuration)
      let client = try daemon.client()
      let sends: JSONValue = [["op": "send", "to": "user:told", "n": 1]]
      try client.event("go", "user:gone", ["ops": sends], with: ["wait": "cascade"])
      _ = try client.call("clock", ["advance": "1s"])
      _ = try client.call("forget", ["subject": "user:gone"])
      try client.event("go", "user:gone", ["ops": sends], with: ["wait": "cascade"])
      _ = try client.call("journal")
      #expect(daemon.end(SIGTERM) == 0)
      let hidden = try RecordedPast(store: daemon.store)
      #expect(hidden.entries.contains { $0.origin == .forget && $0.subject == "user:gone" })
      #expect(hidden.entries.filter { $0.subject == "user:told" }.count == 2)
      #expect(try hidden.difference() == nil)
      let journal = Journal(of: daemon.store, settings: Configuration.Journal())
      let opened = try RocksStore(path: daemon.store, journal: journal)
      try journal.erase(from: opened) { true }
      try opened.close()
      let erased = try RecordedPast(store: daemon.store)
      #expect(erased.entries.contains { $0.origin == .forget && $0.subject.isEmpty })
      #expect(erased.entries.count == hidden.entries.count)
      #expect(try erased.difference() == nil)
    }

    /// Expects that the proof would notice a record that lacks something or says something else.
    private func expectMistakesShow(in past: RecordedPast) throws {
      /// The first entry of that origin whose subject has further ones.
      func first(_ origin: JournalEntry.Origin, in entries: [JournalEntry]) throws -> Int {
        try #require(
          entries.indices.first { index in
            entries[index].origin == origin
              && entries[(index + 1)...].contains { $0.subject == entries[index].subject && $0.origin == .client }
          })
      }
      for origin in [.client, .message, .timer] as [JournalEntry.Origin] {
        let difference = try past.difference { entries in entries.remove(at: try first(origin, in: entries)) }
        #expect(difference != nil, "without an entry of origin \(origin)")
      }
      let later = try past.difference { entries in
        let index = try #require(entries.firstIndex { String(decoding: $0.effects, as: UTF8.self).contains("\"at\":") })
        let moment = Timestamp(microseconds: entries[index].now.microseconds + 1)
        entries[index] = entries[index].with(now: moment)
      }
      #expect(later != nil, "with an event a microsecond later")
      let other = try past.difference { entries in
        let index = try first(.client, in: entries)
        let text = String(decoding: entries[index].event, as: UTF8.self)
        let event = Array(text.replacing("\"subject\":\"", with: "\"subject\":\"other-").utf8)
        entries[index] = entries[index].with(event: event)
      }
      #expect(other != nil, "with an event of another subject")
    }
  }
}
