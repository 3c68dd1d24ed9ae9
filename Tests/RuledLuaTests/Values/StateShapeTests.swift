import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// The shapes that a VM keeps make states cheaper to read and write, and change nothing else.
@Suite struct StateShapeTests {
  /// Tells the state as it came, then changes it as the event says.
  static let rule = Bench.rule(
    """
    local names = {}
    for name in pairs(state) do names[#names + 1] = name end
    decide("came", state)
    decide("names", names)
    decide("length", #state)
    for _, name in ipairs(event.data.drop or {}) do state[name] = nil end
    for name, value in pairs(event.data.set or {}) do state[name] = value end
    if event.data.own then state.own = { n = #names, list = names } end
    if event.data.forget then forget() state.again = 1 end
    if event.data.fail then error("asked to") end
    if event.data.wrong then state.wrong = ipairs end
    """)

  /// The outcome of an event as a line, without a failure's traces of the VM.
  private func line(_ outcome: Outcome) -> String {
    "\(outcome.decisions.sorted { $0.key < $1.key }) \(outcome.state ?? "-") \(outcome.failure?.message ?? "-")"
  }

  private func state(_ random: inout SeededRandom) -> String {
    let names = [
      "a", "best", "day", "points", "streak", "twenty_one_characters", "twenty_two_characters_", "tier", "\u{e9}",
    ]
    let values = [
      "0", "7", "-3", "123456789012345678", "1234567890123456789", "1.5", "-0.0", "\"\"", "\"gold\"", "true", "null",
      "[]", "[1,[2]]", "{}", #"{"best":1,"day":{"a":2}}"#, #""with \"quotes\"""#,
    ]
    let odds = Int.random(in: 0...3, using: &random)
    let chosen = names.filter { _ in odds == 0 || Int.random(in: 0...odds, using: &random) > 0 }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return "{"
      + chosen.map { "\"\($0)\":\(values.randomElement(using: &random) ?? "0")" }.joined(separator: ",") + "}"
  }

  private func data(_ random: inout SeededRandom) -> String {
    [
      "{}", "{}", "{}", #"{"drop":["a","day"]}"#, #"{"drop":["tier"],"set":{"tier":"new"}}"#,
      #"{"set":{"a":1,"z":[1]}}"#,
      #"{"own":true}"#, #"{"forget":true}"#, #"{"fail":true}"#, #"{"wrong":true}"#,
    ].randomElement(using: &random) ?? "{}"
  }

  @Test func `a machine of many states does as a fresh one`() throws {
    let kept = try Bench(Self.rule)
    var random = SeededRandom(seed: 3)
    var text = "{}"
    for turn in 0..<600 {
      // The same names for a while, then others, and at times what the event before left.
      if turn % 3 == 0 || turn % 50 > 40 { text = state(&random) }
      let event = #"{"data":\#(data(&random))}"#
      let explain = turn % 17 == 0
      let outcome = try kept.handle(event, state: text, explain: explain)
      let fresh = try Bench(Self.rule).handle(event, state: text, explain: explain)
      #expect(line(outcome) == line(fresh), "\(turn): \(event) \(text)")
      #expect(outcome.operations == fresh.operations)
      if let state = outcome.state { text = state }
    }
  }

  @Test func `a text that breaks off is refused as by a fresh machine`() throws {
    let kept = try Bench(Self.rule)
    let whole = #"{"best":12,"day":[1,2],"points":3.5,"tier":"gold"}"#
    for _ in 0..<8 { #expect(try kept.handle(state: whole).state == whole) }
    for length in 1..<whole.utf8.count {
      let text = String(decoding: whole.utf8.prefix(length), as: UTF8.self)
      #expect(try line(kept.handle(state: text)) == line(Bench(Self.rule).handle(state: text)), "\(text)")
      #expect(try kept.handle(state: whole).state == whole)
    }
    for text in [
      whole + " ", whole + "}", whole + ",", whole.replacing("12", with: "012"), whole.replacing("12", with: "1 "),
    ] {
      #expect(try line(kept.handle(state: text)) == line(Bench(Self.rule).handle(state: text)), "\(text)")
    }
  }

  @Test func `nothing of one subject is left in the state of the next`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        decide("came", state)
        state.list[#state.list + 1] = event.id
        state.extra = nil
        local t = coroutine.wrap(function() coroutine.yield(state) end)
        t().count = state.count + 1
        """))
    for turn in 0..<20 {
      let text = #"{"count":\#(turn),"list":[]}"#
      let outcome = try bench.handle(id: "\(turn)", state: text)
      #expect(outcome.decisions["came"] == text)
      #expect(outcome.state == #"{"count":\#(turn + 1),"list":["\#(turn)"]}"#)
    }
  }

  /// The length of a table with elements missing depends on how Lua laid it out, which must not depend on events before.
  @Test func `a length where elements are missing is that of a fresh machine`() throws {
    let rule = Bench.rule(
      """
      for _, i in ipairs(event.data.set) do state[i] = i end
      for i = 1, event.data.names do state["n" .. i] = i end
      decide("length", #state)
      for _, i in ipairs(event.data.set) do state[i] = nil end
      for i = 1, event.data.names do state["n" .. i] = nil end
      if event.data.drop then local a = state.a state.a = nil state.a = a end
      """)
    let kept = try Bench(rule)
    var random = SeededRandom(seed: 8)
    for _ in 0..<500 {
      let places = (1...12).filter { _ in Int.random(in: 0...2, using: &random) == 0 }
      let names = Int.random(in: 0...3, using: &random) == 0 ? Int.random(in: 1...9, using: &random) : 0
      let set = Bool.random(using: &random) ? "[\(places.map(String.init).joined(separator: ","))]" : "[]"
      let event = #"{"data":{"set":\#(set),"names":\#(names),"drop":\#(Bool.random(using: &random))}}"#
      let state = #"{"a":1,"b":2,"c":3}"#
      let outcome = try kept.handle(event, state: state)
      #expect(outcome.state == state)
      #expect(try outcome.decisions == Bench(rule).handle(event, state: state).decisions, "\(event)")
    }
  }

  @Test func `names that are many or alike are written in order`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local value = {}
        for i = 1, event.data.n do
          local name = event.data.stem .. i
          value[name] = { [name] = i, [event.data.stem] = { [name .. "x"] = name } }
        end
        decide("v", value)
        """))
    for turn in 0..<40 {
      let raw = ["n", "eightcha", "a name with é", "twelve_chars_", "q\"", ""][turn % 6]
      let escaped = raw.replacing("\"", with: "\\\"")
      let count = [3, 24, 25, 90][turn % 4]
      let names = (1...count).map { ("\(raw)\($0)", "\(escaped)\($0)", $0) }
        .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
      let members = names.map { _, name, i in
        #""\#(name)":{"\#(escaped)":{"\#(name)x":"\#(name)"},"\#(name)":\#(i)}"#
      }
      let event = #"{"data":{"n":\#(count),"stem":"\#(escaped)"}}"#
      #expect(try bench.handle(event).decisions["v"] == "{" + members.joined(separator: ",") + "}")
    }
  }
}
