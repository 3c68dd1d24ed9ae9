import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import TestSupport
import Testing

/// What happens in a world whose rules are not those of the record.
@Suite struct WorldTests {
  private let lua = LuaWorker()

  private func source(_ text: String, name: String = "p") -> RulesSource {
    RulesSource(plugins: [SeededTraffic.plugin(name, "plugin { name = '\(name)', sinks = { 'client' } } " + text)])
  }

  private func catalog(_ source: RulesSource) throws -> Catalog {
    try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
  }

  private func world(_ source: RulesSource, _ entries: [JournalEntry], costMask: UInt64? = nil) throws -> World {
    try World(rules: try catalog(source), lua: lua, recorded: RecordedHistory(entries), costMask: costMask)
  }

  /// Records events of clients, some seconds apart; messages are delivered in between.
  private func record(_ source: RulesSource, _ events: [JSONObject], seconds: Int64 = 10) throws -> [JournalEntry] {
    var random = SeededRandom(seed: 1)
    let engine = try RecordingEngine(source)
    for event in events {
      try engine.send(event)
      try engine.commit()
      while engine.waitingCount > 0 {
        try engine.deliver(&random)
        try engine.commit()
      }
      try engine.advance(microseconds: seconds * Limits.second, &random)
    }
    return engine.entries
  }

  private func play(_ entries: [JournalEntry], in world: World) throws -> [Played] {
    var played: [Played] = []
    for entry in entries { played += try world.play(entry) }
    if let last = entries.last { played += try world.finish(at: last.at) }
    return played
  }

  private func event(_ type: String, _ id: Int, to subject: String = "user:1") -> JSONObject {
    ["type": .string(type), "subject": .string(subject), "id": .string("\(id)")]
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `a changed rule decides something else, and other rules the same as before`() throws {
    let live = source(
      "rule 'a' { on = 'a', run = function() decide('n', 1) end } rule 'b' { on = 'b', run = function() decide('n', 2) end }"
    )
    let next = source(
      "rule 'a' { on = 'a', run = function() decide('n', 7) end } rule 'b' { on = 'b', run = function() decide('n', 2) end }"
    )
    let entries = try record(live, [event("a", 1), event("b", 2)])
    let played = try play(entries, in: world(next, entries))
    #expect(played.map { text($0.entry.decisions) } == ["\"p\":{\"n\":7}", "\"p\":{\"n\":2}"])
    #expect(played.allSatisfy { $0.isRecorded })
  }

  @Test func `equal rules under renamed locals, with other lines and files, do exactly the same`() throws {
    var random = SeededRandom(seed: 77)
    let engine = try RecordingEngine(SeededTraffic.source())
    for step in 0..<400 {
      try engine.send(SeededTraffic.event(&random, id: "e\(step)", at: engine.now))
      if step % 3 == 0 { try engine.commit() }
      try engine.deliver(&random)
      if step % 5 == 0 { try engine.advance(microseconds: 7_000_000, &random) }
      if step == 200 { try engine.retry(plugin: "actor") }
    }
    let renamed = RulesSource(
      plugins: SeededTraffic.source().plugins.reversed().map { plugin in
        let text = String(decoding: plugin.entry?.text ?? [], as: UTF8.self)
        let other =
          "\n\n"
          + text.replacing("fail", with: "breaks").replacing(
            "breaks = function(state, op)", with: "fail = function(state, op)"
          )
          .replacing("does", with: "acts").replacing("local other", with: "local their").replacing(
            "other and other", with: "their and their")
        return SeededTraffic.plugin(plugin.name, other)
      }.sorted { $0.name < $1.name })
    #expect(try catalog(renamed).revision != catalog(SeededTraffic.source()).revision)
    let entries = engine.entries
    let same = try world(SeededTraffic.source(), entries), other = try world(renamed, entries)
    for entry in entries {
      let left = try same.play(entry).map(Self.withoutPlaces), right = try other.play(entry).map(Self.withoutPlaces)
      #expect(left == right, "entry \(entry.sequence)")
    }
  }

  /// An outcome without what moving code changes: the revision, and the places of failures.
  private static func withoutPlaces(_ played: Played) -> JournalEntry {
    let text = "[" + String(decoding: played.entry.failures, as: UTF8.self) + "]"
    let failures = ((try? JSONValue(parsing: text))?.arrayValue ?? []).map {
      "\($0["plugin"]?.text ?? "") \($0["kind"]?.text ?? "") \($0["message"]?.text ?? "")"
    }
    return played.entry.with(revision: "", failures: Array(failures.joined().utf8))
  }

  @Test func `a message that is numbered otherwise is the recorded one, with its id`() throws {
    let live = source(
      "rule 'a' { on = 'a', run = function() send('user:2', 'told', { n = 1 }) end } rule 'b' { on = 'told', run = function(e) decide('id', e.id) end }"
    )
    let next = source(
      "rule 'a' { on = 'a', run = function() decide('more', 1) send('user:2', 'told', { n = 1 }) end } rule 'b' { on = 'told', run = function(e) decide('id', e.id) end }"
    )
    let entries = try record(live, [event("a", 1)])
    let played = try play(entries, in: world(next, entries))
    #expect(entries.map(\.origin) == [.client, .message])
    #expect(played.count == 2)
    #expect(played.last?.isRecorded == true)
    #expect(played.last?.entry.decisions == entries.last?.decisions)
  }

  @Test
  func `a message of this world alone is delivered after its sender's event, one that is not sent does not happen`()
    throws
  {
    let silent = source(
      "rule 'a' { on = 'a', run = function() decide('x', 1) end } rule 'b' { on = 'told', run = function() decide('y', 1) end }"
    )
    let telling = source(
      "rule 'a' { on = 'a', run = function() send('user:2', 'told', {}) end } rule 'b' { on = 'told', run = function() decide('y', 1) end }"
    )
    let quiet = try record(silent, [event("a", 1), event("a", 2)])
    let more = try play(quiet, in: world(telling, quiet))
    #expect(more.map(\.entry.origin) == [.client, .message, .client, .message])
    #expect(more.map(\.isRecorded) == [true, false, true, false])
    #expect(more.map(\.entry.version) == [1, 1, 2, 2])
    let loud = try record(telling, [event("a", 1), event("a", 2)])
    #expect(try play(loud, in: world(silent, loud)).map(\.entry.origin) == [.client, .client])
  }

  @Test
  func `a message of this world alone does not overtake one that the same sender sent to the same subject before`()
    throws
  {
    func rules(_ more: String) -> RulesSource {
      source(
        "rule 'a' { on = 'a', run = function(e) send('user:2', 'got', { id = e.id }) \(more) end } "
          + "rule 'g' { on = 'got', run = function(e, s) s.got = (s.got or 0) + 1 decide('got', s.got) end } "
          + "rule 'b' { on = 'bonus', run = function(e, s) assert(s.got) decide('bonus', s.got) end }"
      )
    }
    func recorded(_ rules: RulesSource) throws -> [JournalEntry] {
      var random = SeededRandom(seed: 1)
      let engine = try RecordingEngine(rules)
      for round in 0..<3 {
        for number in 0..<2 { try engine.send(event("a", 10 * round + number)) }
        try engine.commit()
        // A message that is sent now waits while the next event happens.
        if round == 2 { break }
        try engine.send(event("a", 10 * round + 5))
        while engine.waitingCount > 0 { try engine.deliver(&random) }
        try engine.commit()
      }
      while engine.waitingCount > 0 { try engine.deliver(&random) }
      try engine.commit()
      return engine.entries
    }
    let entries = try recorded(rules(""))
    let next = rules("send('user:2', 'bonus', {})")
    func messages(_ entries: [JournalEntry]) -> [String] {
      entries.filter { $0.origin == .message }.map { text($0.decisions) }
    }
    let played = try play(entries, in: world(next, entries)).map(\.entry)
    #expect(messages(entries).count == 8)
    #expect(messages(played) == messages(try recorded(next)))
    #expect(played.allSatisfy { $0.failures.isEmpty })
    #expect(try play(entries, in: world(rules(""), entries)).allSatisfy { $0.isRecorded })
  }

  @Test func `a timer of this world alone fires when it is due, and not after the range`() throws {
    func rules(_ seconds: Int) -> RulesSource {
      source(
        "rule 'a' { on = 'a', run = function() timer.set('t', now() + \(seconds), 'due', {}) end } rule 'b' { on = 'due', run = function() decide('at', now()) end }"
      )
    }
    let entries = try record(rules(100), [event("a", 1), event("b", 2), event("b", 3)])
    #expect(entries.map(\.origin) == [.client, .client, .client])
    let earlier = try play(entries, in: world(rules(15), entries))
    #expect(earlier.map(\.entry.origin) == [.client, .client, .timer, .client])
    #expect(earlier[2].entry.now.microseconds == LocalEngine.start.microseconds + 15 * Limits.second)
    #expect(try play(entries, in: world(rules(21), entries)).map(\.entry.origin) == [.client, .client, .client])
    let fired = try record(rules(15), [event("a", 1), event("b", 2), event("b", 3)])
    #expect(fired.contains { $0.origin == .timer })
    #expect(try !play(fired, in: world(rules(100), fired)).contains { $0.entry.origin == .timer })
  }

  @Test func `a loop of timers replays as it was, late ones too`() throws {
    let ticking = source(
      """
      rule 'tick' { on = { 'a', 'tick' }, run = function(e, s)
        s.n = (s.n or 0) + 1
        decide('n', s.n)
        if s.n < 40 then timer.set('t', s.n % 7 == 0 and 0 or now(), 'tick', {}) end
      end }
      """)
    let entries = try record(ticking, [event("a", 1), event("a", 2)], seconds: 30)
    #expect(entries.count > 30)
    let played = try play(entries, in: world(ticking, entries))
    #expect(played.allSatisfy(\.isRecorded) && played.map(\.entry.now) == entries.map(\.now))
    #expect(played.map(\.entry.decisions) == entries.map(\.decisions))
  }

  @Test func `a timer of a plugin that the candidate lacks waits in its world, and fires late once the plugin is back`()
    throws
  {
    let setting =
      "rule 'a' { on = 'a', run = function() timer.set('t', now() + 5, 'due', {}) end } rule 'b' { on = 'due', run = function() decide('at', now()) end }"
    let both = RulesSource(plugins: source(setting).plugins + source("", name: "q").plugins)
    let entries = try record(both, [event("a", 1), event("b", 2), event("b", 3)])
    #expect(entries.map(\.origin) == [.client, .timer, .client, .client])
    let world = try world(both, entries)
    let away = source("", name: "q")
    #expect(try world.play(entries[0]).count == 1)
    world.adopt(try catalog(away))
    for entry in entries[1...2] { #expect(try world.play(entry).count == (entry.origin == .timer ? 0 : 1)) }
    let fresh = try World(rules: try catalog(both), lua: lua, recorded: nil)
    #expect(try fresh.play(entries[0]).count == 1)
    fresh.adopt(try catalog(away))
    #expect(try fresh.play(entries[2]).map(\.entry.origin) == [.client])
    fresh.adopt(try catalog(both))
    #expect(try fresh.play(entries[3]).map(\.entry.origin) == [.timer, .client])
  }

  @Test func `a candidate without the failure has nothing to retry`() throws {
    let failing = source(
      "rule 'a' { on = 'a', run = function(_, s) if now() % 2 < 1 then error('no') end s.n = 1 end }")
    let sound = source("rule 'a' { on = 'a', run = function(_, s) s.n = 1 end }")
    let engine = try RecordingEngine(failing)
    var random = SeededRandom(seed: 1)
    try engine.send(event("a", 1))
    try engine.advance(microseconds: Limits.second, &random)
    try engine.retry(plugin: "p")
    #expect(engine.entries.map(\.origin) == [.client, .retry])
    #expect(try play(engine.entries, in: world(failing, engine.entries)).map(\.entry.origin) == [.client, .retry])
    #expect(try play(engine.entries, in: world(sound, engine.entries)).map(\.entry.origin) == [.client])
  }

  @Test func `events of clients alone are evaluated as if they came in, repeats included`() throws {
    let rules = source(
      "rule 'a' { on = 'a', run = function(e, s) s.n = (s.n or 0) + 1 send('user:2', 'told', {}) timer.set('t', now() + 5, 'due', {}) end }"
    )
    let world = try World(rules: try catalog(rules), lua: lua, recorded: nil)
    func entry(_ id: Int, _ sequence: UInt64, _ second: Int64) -> JournalEntry {
      let at = Timestamp(microseconds: LocalEngine.start.microseconds + second * Limits.second)
      return JournalEntry(
        sequence: sequence, at: at, now: at, subject: "user:1", version: 0, revision: "", origin: .client,
        event: Array(JSONValue.object(event("a", id)).text.utf8))
    }
    #expect(try world.play(entry(1, 1, 0)).map(\.entry.origin) == [.client, .message])
    #expect(try world.play(entry(1, 2, 1)).isEmpty)
    #expect(try world.play(entry(2, 3, 9)).map(\.entry.origin) == [.timer, .client, .message])
    #expect(try world.state(of: "user:1")["plugins"]?["p"]?["n"] == 2)
  }

  /// Looking through what all other subjects have for each would exceed a test's limit.
  @Test func `erasing many subjects costs what each of them has`() throws {
    let rules = source("rule 'a' { on = 'a', run = function(e, s) s.n = (s.n or 0) + 1 end }")
    let world = try World(rules: try catalog(rules), lua: lua, recorded: nil)
    let size = 10_000
    var sequence: UInt64 = 0
    func play(_ origin: JournalEntry.Origin, _ subject: Int) throws {
      sequence += 1
      let event = event("a", Int(sequence), to: "user:\(subject)")
      _ = try world.play(
        JournalEntry(
          sequence: sequence, at: LocalEngine.start, now: LocalEngine.start, subject: "user:\(subject)", version: 0,
          revision: "", origin: origin, event: Array(JSONValue.object(event).text.utf8)))
    }
    for _ in 0..<2 { for subject in 0...size { try play(.client, subject) } }
    for subject in 1...size { try play(.forget, subject) }
    for subject in [0, size] { try play(.client, subject) }
    #expect(try world.state(of: "user:0")["plugins"]?["p"]?["n"] == 3)
    #expect(try world.state(of: "user:\(size)")["plugins"]?["p"]?["n"] == 1)
  }

  @Test func `instructions of rules are counted, and a rule that fails has run`() throws {
    let rules = source(
      "rule 'a' { on = 'a', run = function() for i = 1, 100 do local x = i end end } rule 'b' { on = 'a', run = function() end } rule 'c' { on = 'a', when = function() return false end, run = function() end }"
        + " rule 'd' { on = 'a', run = function() error('no') end }")
    let entries = try record(rules, [event("a", 1)])
    let costs = try play(entries, in: world(rules, entries, costMask: 0)).flatMap(\.rules)
    #expect(costs.map(\.rule) == ["a", "b", "d"])
    #expect((costs[0].instructions ?? 0) > 100 && (costs[0].instructions ?? 0) < 400)
    #expect((costs[1].instructions ?? 1000) < 10)
    #expect(
      try play(entries, in: world(rules, entries, costMask: .max)).flatMap(\.rules).map(\.instructions) == [
        nil, nil, nil,
      ])
  }
}
