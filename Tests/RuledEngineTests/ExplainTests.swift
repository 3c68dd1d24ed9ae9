import RuledCore
import Testing

@Suite struct ExplainTests {
  private func trace(_ outcome: JSONValue, _ rule: String) -> JSONValue? {
    outcome["trace"]?.arrayValue?.first { $0["rule"]?.stringValue == rule }
  }

  @Test func everyRuleThatWasConsideredSaysWhyItFiredOrNot() throws {
    let engine = try Engine([
      "a":
        "rule 'fires' { on = 'x', run = function(e, s) s.n = (s.n or 0) + e.data.by decide('n', s.n) emit('mail', 'm') end } "
        + "rule 'when' { on = 'x', when = function() return false end, run = function() end } "
        + "rule 'other' { on = { 'y', 'z.*' }, run = function() end } "
        + "rule 'shadowed' { on = 'x', run = function() decide('n', 0) end }"
    ])
    let outcome = try engine.send("x", ["by": 2], ["explain": true])
    #expect(outcome["trace"]?.arrayValue?.count == 4)
    #expect(trace(outcome, "fires")?["fired"] == true)
    #expect(trace(outcome, "when")?["fired"] == false)
    #expect(trace(outcome, "other")?["fired"] == false)
    #expect(trace(outcome, "other")?["reason"]?.stringValue?.contains("'z.*'") == true)
    #expect(trace(outcome, "fires")?["writes"]?.arrayValue?.isEmpty == false)
    #expect(trace(outcome, "shadowed")?.text.contains("fires") == true)
    #expect(try engine.state("a")?["n"] == 2)
  }

  @Test func anExplanationChangesNothingOfTheOutcome() throws {
    let text =
      "rule 'r' { on = 'x', run = function(e, s) s.l = s.l or array {} s.l[#s.l + 1] = e.data.v "
      + "for k, v in pairs(e.data) do s[k] = v end decide('count', #s.l) if once('a') then raise('y') end end } "
      + "rule 'y' { on = 'y', run = function(e, s) s.y = next(s) end }"
    let plain = try Engine(["p": text])
    let explained = try Engine(["p": text])
    for step in 0..<5 {
      let data: JSONValue = ["v": .integer(Int64(step)), "nested": ["a": [1, 2, ["b": nil]]]]
      let one = try plain.send("x", data)
      var other = try explained.send("x", data, ["explain": true]).objectValue
      #expect(other?["trace"] != nil)
      other?["trace"] = nil
      #expect(one.objectValue == other)
    }
    #expect(try plain.state("p") == explained.state("p"))
  }

  @Test func aDryRunMayExplainToo() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function(e, s) s.n = 1 end }"])
    let outcome = try engine.send("x", [:], ["explain": true, "dryrun": true])
    #expect(trace(outcome, "r")?["fired"] == true)
    #expect(try engine.state("p") == nil)
  }

  @Test func aPluginThatTakesOtherSourcesSaysSo() throws {
    let engine = try Engine(
      ["p": "rule 'r' { on = 'x', run = function(e, s) s.n = 1 end }"], manifest: "sources = { 'boss/*' }")
    let outcome = try engine.send("x", [:], ["explain": true, "source": "other"])
    #expect(trace(outcome, "r")?["fired"] == false)
    #expect(trace(outcome, "r")?["reason"]?.stringValue?.contains("boss/*") == true)
    try engine.send("x", [:], ["source": "boss/a"])
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test func theRulesOfAPluginStandTogetherInTheirOrder() throws {
    let engine = try Engine([
      "p": """
      rule 'one' { on = 'other', run = function() end }
      rule 'two' { on = 'x', run = function() raise('y', {}) end }
      rule 'three' { on = 'z.*', run = function() end }
      """,
      "q": """
      rule 'four' { on = 'x', run = function() error('no') end }
      rule 'five' { on = { 'x', 'y' }, run = function() end }
      """,
    ])
    let trace = try engine.send("x", [:], ["explain": true])["trace"]?.arrayValue ?? []
    let names = trace.compactMap { $0["rule"]?.stringValue }
    #expect(names.prefix(5) == ["one", "two", "three", "four", "five"])
    #expect(trace.prefix(5).map { $0["fired"] } == [false, true, false, true, false])
  }

  @Test func `What a rule reads has its value, and what it says to others is listed`() throws {
    let engine = try Engine([
      "p": """
      rule 'first' { on = 'x', run = function(_, s) s.n = 1 s.deep = { list = { 'a', 'b' } } end }
      rule 'closed' { on = 'y', when = function(_, s) return s.n == 2 end, run = function() end }
      rule 'says' { on = 'y', run = function(_, s)
        local seen = s.deep.list[2] .. tostring(s.none)
        send('user:2', 'hello') timer.set('t', 60, 'late') count('p.c', { a = 1 }) once('k') raise('z')
      end }
      rule 'heard' { on = 'z', run = function() decide('heard', true) end }
      """
    ])
    try engine.send("x")
    let outcome = try engine.send("y", [:], ["explain": true])
    #expect(trace(outcome, "closed")?["values"] == ["state.n": 1])
    let says = trace(outcome, "says")
    #expect(says?["event"] == "y" && trace(outcome, "heard")?["event"] == "z")
    #expect(says?["values"] == ["state.deep.list[2]": "b", "state.none": nil])
    #expect(says?["raised"] == ["z"])
    #expect(says?["sends"] == ["hello to user:2"])
    #expect(says?["timers"] == ["t: late at 1970-01-01T00:01:00.000Z"])
    #expect(says?["counts"] == [#"p.c {"a":1}"#])
    #expect(says?["once"] == ["k"])
  }
}
