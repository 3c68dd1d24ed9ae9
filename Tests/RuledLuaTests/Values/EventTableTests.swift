import RuledCore
import Testing

@testable import RuledLua

/// An event's table is made as it is read; no way of reading may tell.
@Suite struct EventTableTests {
  private static let event = #"{"type":"x","data":{"a":1,"list":[1,2],"gone":null},"trace":"t-1","nothing":null}"#

  @Test(arguments: [
    "decide('v', event)",
    "for k, v in pairs(event) do decide('k' .. k, v) end",
    "decide('v', event.id) for k, v in pairs(event) do decide('k' .. k, v) end",
    "local d = event.data for k, v in pairs(event) do decide('k' .. k, v) end decide('same', rawequal(d, event.data))",
    "decide('v', { event.trace or '-', event.nothing or '-', event.absent or '-', event[1] or '-', event[true] or '-' })",
    "local k, n = nil, 0 repeat k = next(event, k) n = n + 1 until k == nil decide('n', n)",
    "decide('v', { rawget(event, 'id'), rawget(event, 'data').a, rawget(event, 'trace'), rawlen(event), #event })",
    "decide('v', json.encode(event)) decide('w', event.subject .. event.source .. event.type .. event.time)",
    "decide('v', tostring(pcall(function() event.x = 1 end))) decide('w', event.x == nil)",
    "decide('v', tostring(pcall(rawset, event, 'id', 1))) decide('w', event.id)",
    "decide('v', coroutine.wrap(function() return event.data.list[2] + #event.data.list end)())",
    "decide('v', event.data.gone == nil) decide('w', tostring(getmetatable(event)))",
    "state.event = event",
  ])
  func `values are the same whether they are read at once or as they are needed`(_ run: String) throws {
    let bench = try Bench(Bench.rule(run)), eager = try Bench(Bench.rule(run))
    for _ in 1...3 {
      let expected = try eager.handle(Self.event)
      let outcome = try bench.runUncounted(Self.event).outcome
      #expect(expected.failure == nil)
      #expect(outcome.decisions == expected.decisions && outcome.state == expected.state)
      #expect(outcome.failure == expected.failure)
    }
  }

  @Test func `nothing of an event is left in the next`() throws {
    let bench = try Bench(
      Bench.rule(
        "local n = 0 if event.data.all then for _ in pairs(event) do n = n + 1 end end decide('v', { n, event.trace or '-' })"
      ))
    #expect(try bench.runUncounted(#"{"data":{"all":true},"trace":"t"}"#).outcome.decisions["v"] == #"[8,"t"]"#)
    #expect(try bench.runUncounted(#"{"data":{"all":true}}"#).outcome.decisions["v"] == #"[7,"-"]"#)
    #expect(try bench.runUncounted("{}").outcome.decisions["v"] == #"[0,"-"]"#)
    #expect(try bench.runUncounted(#"{"data":[]}"#).outcome.decisions["v"] == #"[0,"-"]"#)
    #expect(try bench.runUncounted(#"{"data":{"all":true}}"#).outcome.decisions["v"] == #"[7,"-"]"#)
  }
}
