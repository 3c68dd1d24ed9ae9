import RuledCore
import Testing

@testable import RuledLua

/// A value that may be stored comes back as it was; one that may not is refused by its path.
@Suite struct ValueTests {
  @Test(arguments: 0..<300)
  func `a stored value comes back as it was`(_ seed: UInt64) throws {
    var values = RandomValues(seed: seed)
    let value = values.object(depth: 0)
    let bench = try Bench(
      Bench.rule(
        """
        if event.data.text then state.value = json.decode(event.data.text) end
        local copy = json.decode(json.encode(state.value))
        decide("same", json.encode(copy) == json.encode(state.value))
        decide("value", state.value)
        """))
    let text = values.text(of: value)
    let event = ByteBuffer()
    JSONValue.object(["data": .object(["text": .string(text)])]).write(to: event)
    let first = try bench.handle(String(decoding: event.bytes, as: UTF8.self))
    #expect(first.failure == nil, "\(first.failure?.message ?? "")")
    #expect(first.decisions["value"] == text)
    #expect(first.decisions["same"] == "true")
    #expect(first.state == #"{"value":\#(text)}"#)
    let second = try bench.handle(state: first.state ?? "")
    #expect(second.state == first.state)
  }

  /// Values that can't be stored, what stands between `state` and the value, and a word of the message.
  static let refused: [(value: String, path: String, word: String)] = [
    ("function() end", "", "function"), ("decide", "", "function"), ("coroutine.create(function() end)", "", "thread"),
    ("0 / 0", "", "NaN"), ("math.huge", "", "infinite"), ("-math.huge", "", "infinite"),
    (#""\xff""#, "", "UTF-8"), (#""a\xc0\x80""#, "", "UTF-8"), (#""\xed\xa0\x80""#, "", "UTF-8"),
    (#""\xf4\x90\x80\x80""#, "", "UTF-8"),
    (#""\xe2\x82""#, "", "UTF-8"), (#""abcdefgh\xe2""#, "", "UTF-8"),
    ("{ 1, nil, 3 }", "", "1 to n"), ("{ 1, x = 2 }", "", "mixes"), ("{ [2] = 1 }", "", "1 to n"),
    ("{ [0] = 1 }", "", "1 to n"),
    ("{ [1.5] = 1 }", "", "1 to n"), ("{ [true] = 1 }", "", "key"), ("{ [{}] = 1 }", "", "key"),
    ("{ x = 1, [true] = 1 }", "", "key"),
    ("setmetatable({}, {})", "", "metatable"), ("setmetatable({}, { __index = {} })", "", "metatable"),
    ("object", "", "metatable"),
    ("state", "", "itself"), ("cycle", ".a.b", "itself"),
    ("{ items = { 1, 2, { x = decide } } }", ".items[3].x", "function"), ("{ { { 0 / 0 } } }", "[1][1][1]", "NaN"),
    (#"{ a = { b = "\xff" } }"#, ".a.b", "UTF-8"), ("{ a = { { b = { 1, y = 2 } } } }", ".a[1].b", "mixes"),
    ("(function() local t = array {} t.x = 1 return t end)()", "", "1 to n"),
  ]

  @Test(arguments: refused.indices)
  func `a value that cannot be stored fails with its path`(_ index: Int) throws {
    let (value, path, word) = Self.refused[index]
    let before = "local object = setmetatable({ a = 1 }, { __index = {} })"
    let make = "local cycle = { a = {} } cycle.a.b = cycle local value = \(value)"
    let inState = try Bench(Bench.rule("\(make) state.value = value", before: before)).handle()
    #expect(inState.failure?.kind == .state)
    #expect(inState.failure?.message.hasPrefix("state.value\(path) ") == true, "\(inState.failure?.message ?? "")")
    #expect(inState.failure?.message.contains(word) == true, "\(inState.failure?.message ?? "")")
    let calls = [
      ("decide('key', value)", "decision 'key'"), ("emit('client', 'type', value)", "effect's data"),
      ("raise('type', value)", "event's data"), ("send('user:2', 'type', value)", "message's data"),
      ("timer.set('name', 1, 'type', value)", "timer's data"), ("count('name', { value })", "labels[1]"),
    ]
    for (call, root) in calls {
      let outcome = try Bench(Bench.rule("\(make) \(call)", before: before)).handle(state: "{}")
      guard value != "state" else { continue }
      #expect(outcome.failure?.kind == .value, "\(call) of \(value)")
      #expect(outcome.failure?.message.contains("\(root)\(path) ") == true, "\(outcome.failure?.message ?? "")")
      #expect(outcome.failure?.line == 4)
    }
  }

  @Test(arguments: [
    "decide(n, 1)", "emit('client', n)", "emit('client', 'type', {}, { id = n })",
    "emit('client', 'type', {}, { key = n })", "raise(n)", "send(n, 'type')", "send('user:2', n)", "publish(n, 'type')",
    "publish('all', n)", "publish('all', 'type', {}, { except = n })", "topic.join(n)", "topic.leave(n)",
    "topic.joined(n)",
    "once(n)", "count(n)", "timer.set(n, 1, 'type')", "timer.set('name', 1, n)",
    "timer.every(n, { seconds = 60 }, 'type')",
    "timer.cancel(n)", "board.set(n, 1)", "board.add(n, 1)", "board.leave(n)",
  ])
  func `a name that is not UTF-8 is refused`(_ call: String) throws {
    for name in [#""é\xff""#, #"("é"):sub(1, 1)"#, #""\xed\xa0\x80""#] {
      let failure = try Bench(Bench.rule("local n = \(name)\n\(call)")).handle().failure
      #expect(failure?.kind == .value && failure?.message.contains("is not UTF-8") == true, "\(failure?.message ?? "")")
    }
    #expect(try Bench(Bench.rule("local n = 'é'\n\(call)")).handle().failure == nil)
  }

  @Test func `64 levels may be stored and not one more`() throws {
    let bench = try Bench(
      Bench.rule("local t = state for i = 2, event.data.levels do t.x = t.x or {} t = t.x end"))
    let outcome = try bench.handle(#"{"data":{"levels":64}}"#)
    #expect(outcome.failure == nil)
    #expect(try bench.handle(#"{"data":{"levels":64}}"#, state: outcome.state ?? "").state == outcome.state)
    let deeper = try bench.handle(#"{"data":{"levels":65}}"#)
    #expect(deeper.failure?.kind == .state)
    #expect(deeper.failure?.message.contains("deeper than 64") == true)
  }

  @Test func `a state of 256 KiB may be stored, and not one byte more`() throws {
    let bench = try Bench(Bench.rule("state.x = ('y'):rep(event.data.bytes)"))
    let room = (256 << 10) - #"{"x":""}"#.utf8.count
    #expect(try bench.handle(#"{"data":{"bytes":\#(room)}}"#).state?.utf8.count == 256 << 10)
    let larger = try bench.handle(#"{"data":{"bytes":\#(room + 1)}}"#)
    #expect(larger.failure?.kind == .state)
    #expect(larger.failure?.message.hasPrefix("state ") == true)
    #expect(!bench.vm.isDead)
  }

  /// What rules do to arrays, objects and nulls, and what they are then.
  @Test(arguments: [
    ("state.x = {}", #"{"x":{}}"#), ("state.x = array {}", #"{"x":[]}"#), ("state.x = array()", #"{"x":[]}"#),
    ("state.x = array { 1 } table.remove(state.x)", #"{"x":[]}"#),
    ("state.x = { 1 } table.remove(state.x)", #"{"x":{}}"#),
    ("table.remove(state.list)", #"{"list":[]}"#), ("state.list[1] = nil", #"{"list":[]}"#),
    ("state.x = json.null", #"{"x":null}"#), ("state.x = { json.null, 1 }", #"{"x":[null,1]}"#),
    ("state.x = 1.0", #"{"x":1.0}"#), ("state.x = 1", #"{"x":1}"#), ("state.x = 1e300", #"{"x":1e+300}"#),
    ("state.x = -0.0", #"{"x":-0.0}"#),
    ("state.x = 2^53", #"{"x":9007199254740992.0}"#), ("state.x = math.mininteger", #"{"x":-9223372036854775808}"#),
    ("state.x = math.maxinteger", #"{"x":9223372036854775807}"#), ("state.x = 0.1", #"{"x":0.1}"#),
    ("state.x = 5e-324", #"{"x":4.94065645841247e-324}"#),
    ("state.x = 'a\\0b\\n\\\"\\u{7f}\\u{1F600}'", "{\"x\":\"a\\u0000b\\n\\\"\u{7f}\u{1F600}\"}"),
    ("state['a b'] = { [''] = 1 }", #"{"a b":{"":1}}"#), ("local t = { 1 } state.x = { t, t }", #"{"x":[[1],[1]]}"#),
    ("state.x = event.data", #"{"x":{"l":[],"o":{}}}"#), ("state.x = settings.list", #"{"x":[1,2,3]}"#),
  ])
  func `kinds of values are kept`(_ run: String, _ expected: String) throws {
    let state = run.contains("state.list") ? #"{"list":[1]}"# : ""
    let outcome = try Bench(Bench.rule(run)).handle(#"{"data":{"o":{},"l":[]}}"#, state: state)
    #expect(outcome.state == expected, "\(outcome.failure?.message ?? "")")
  }
}
