import RuledCore
import RuledEngine
import Testing

@Suite struct DeterminismTests {
  @Test func `the same events give the same outcomes, ids and random numbers`() throws {
    let text = """
      rule 'r' { on = 'x', run = function(e, s)
        s.ids = { uuid(), uuid(), emit('mail', 'm', { r = math.random() }) }
        s.random = { math.random(1, 1000), math.random() }
        send('user:2', 'y', { id = uuid() })
        timer.set('t', now() + 5, 'z')
        for k in pairs(e.data) do s.order = (s.order or '') .. k end
      end }
      rule 'y' { on = { 'y', 'z' }, run = function(e, s) s.id = e.id s.random = math.random() s.uuid = uuid() end }
      """
    let data: JSONValue = ["b": 1, "a": 2, "z": 3, "m": 4, "q": 5]
    let outcomes = try (0..<2).map { _ in
      let engine = try Engine(["p": text])
      let outcome = try engine.send("x", data, ["id": "7"])
      try engine.local.advance(microseconds: 10 * Limits.second)
      return [outcome, try engine.state("p") ?? nil, try engine.state("p", of: "user:2") ?? nil]
    }
    #expect(outcomes[0] == outcomes[1])
    #expect(outcomes[0][1]["order"] == "abmqz")
  }

  @Test func `nothing carries from one subject or event to the next`() throws {
    let text = """
      local config = { list = {} }
      rule 'r' { on = 'x', run = function(e, s)
        decide('ok', pcall(function() config.list[1] = e.subject end))
        decide('meta', pcall(function() getmetatable('').__index = nil end))
        decide('lib', pcall(function() string.format = nil end))
        decide('seen', #config.list)
      end }
      """
    let engine = try Engine(["p": text])
    for subject in ["user:1", "user:2"] {
      #expect(
        try engine.send("x", [:], to: subject)["decisions"]?["p"] == [
          "ok": false, "meta": false, "lib": false, "seen": 0,
        ])
    }
  }
}
