import RuledCore
import Testing

/// An event whose rules ran uncounted and then again with counting has the effects of one run.
@Suite struct UncountedRunTests {
  /// A plugin that does a little of everything, raises to itself, and spends `spin` in the end.
  private static let plugin = """
    rule 'go' { on = 'go', run = function(e, s)
      s.n = (s.n or 0) + 1
      s.claimed = once('key') and true or s.claimed
      decide('id', uuid())
      decide('drawn', math.random(1000000))
      emit('mail', 'm', { n = s.n })
      timer.set('t', now() + 60, 'due')
      raise('inner', { n = s.n, spin = e.data.spin })
    end }
    rule 'late' { on = 'go', run = function(e, s) s.order = s.order .. ' late ' .. e.data.spin end }
    rule 'inner' { on = 'inner', run = function(e, s)
      s.order = 'inner ' .. e.data.n
      for i = 1, e.data.spin do end
    end }
    """
  private static let witness = "rule 'r' { on = 'inner', run = function(e, s) s.seen = (s.seen or 0) + e.data.n end }"

  @Test func `a long event has the outcome of a short one`() throws {
    let short = try Engine(["p": Self.plugin, "w": Self.witness]),
      long = try Engine(["p": Self.plugin, "w": Self.witness])
    for round in 1...3 {
      let expected = try short.send("go", ["spin": 0], to: "user:1", ["id": .string("e\(round)")])
      let outcome = try long.send("go", ["spin": 900_000], to: "user:1", ["id": .string("e\(round)")])
      #expect(outcome["decisions"] == expected["decisions"] && outcome["effects"] == expected["effects"])
      #expect(outcome["failures"] == [])
      for name in ["n", "claimed"] { #expect(try long.state("p")?[name] == short.state("p")?[name]) }
      #expect(try long.state("p")?["order"] == .string("inner \(round) late 900000"))
      #expect(try long.state("w") == short.state("w"))
    }
    #expect(try long.stored(.effect).count == short.stored(.effect).count)
  }

  @Test func `an event that spends too much is stopped once, and three of them suspend the plugin`() throws {
    let engine = try Engine(["p": Self.plugin, "w": Self.witness])
    for _ in 1...3 {
      let outcome = try engine.send("go", ["spin": 2_000_000_000])
      #expect(outcome["failures"]?.arrayValue?.count == 1)
      #expect(outcome["failures"]?.arrayValue?.first?["kind"] == "instructions")
      #expect(outcome["effects"] == [])
    }
    #expect(try engine.state("p") == nil)
    let outcome = try engine.send("go", ["spin": 0])
    #expect(outcome["failures"]?.arrayValue?.first?["kind"] == "error")
  }
}
