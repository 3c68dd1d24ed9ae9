import RuledCore
import RuledLua
import RuledStore
import TestSupport
import Testing

@testable import RuledEngine
@testable import RuledJournal
@testable import RuledReplay

/// The past of a subject from a snapshot on.
@Suite struct SubjectPastTests {
  private static let rules = RulesSource(plugins: [
    SeededTraffic.plugin(
      "p",
      """
      plugin { name = "p" }
      rule "go" { on = "go", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("n", state.n)
        if event.data.tells then
          publish("nobody", "told")
          send(event.subject, "told")  -- behind the publication
          timer.set("t", now() + 1, "due")
        end
      end }
      rule "heard" { on = { "told", "due" }, run = function(event, state)
        state.heard = (state.heard or 0) + 1
        decide("heard", { heard = state.heard, n = state.n })
      end }
      """)
  ])

  @Test func `a message to itself and a timer that wait in the snapshot are explained as they happened`() throws {
    var random = SeededRandom(seed: 1)
    let engine = try RecordingEngine(Self.rules)
    func go(_ id: String, tells: Bool) throws {
      try engine.send(["type": "go", "subject": "s", "id": .string(id), "data": ["tells": .bool(tells)]])
      try engine.commit()
    }
    try go("first", tells: false)
    for id in ["second", "and", "more"] { try go(id, tells: true) }
    let base = try engine.store.copy()
    let snapshot = JournalSnapshot(sequence: UInt64(engine.entries.count), at: engine.now, path: "")
    try go("third", tells: false)
    for _ in 1...4 { try engine.publish() }
    try engine.deliver(to: "s")
    try engine.advance(microseconds: 5_000_000, &random)
    try go("fourth", tells: false)
    let entries = Array(engine.entries.dropFirst(4))
    #expect(entries.map(\.origin) == [.client, .message, .message, .message, .timer, .client])

    let past = SubjectPast(
      of: "s", in: ListedJournal(entries: entries, snapshots: [snapshot]), configuration: .init(), lua: LuaWorker(),
      revision: { revision in
        let entry = RevisionArchive.Entry(
          revision: revision, loadedAt: LocalEngine.start, origin: .folder, changed: [], number: 0)
        return .init(entry: entry, rules: Self.rules, configuration: [:])
      },
      base: { (_, _) throws(StoreError) in
        do { return try base.copy() } catch { throw StoreError(.inputOutput, "\(error)") }
      })
    for entry in entries {
      let told = try past.explain(event: entry.eventID)
      #expect(told["differs"] == nil && told["outcome"]?["decisions"] == entry.outcome["decisions"], "\(told)")
    }
  }
}
