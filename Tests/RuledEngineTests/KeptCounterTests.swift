import RuledCore
import RuledJSON
import RuledLua
import RuledStore
import TestSupport
import Testing

@testable import RuledEngine

/// Counters that are removed when they are not counted for some time.
@Suite struct KeptCounterTests {
  private static let counting = """
    rule 'n' { on = 'n', run = function(e) count('p.n', e.data.labels, e.data.n, e.data.keep and { keep = e.data.keep }) end }
    query 'all' (function() return counters('p.') end)
    """

  private func counters(_ engine: Engine) -> [String] {
    engine.local.context.counters.select(prefix: "", now: engine.local.now.microseconds).map {
      "\($0.key.labels)=\($0.value.json.text)"
    }
  }

  private func pass(days: Int64, _ engine: Engine) throws {
    try engine.local.advance(microseconds: days * 24 * Limits.hour)
  }

  @Test func `a counter is removed once it is not counted for so long, and begins at 0 again`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("n", ["labels": ["a": 1], "keep": "30d"])
    try engine.send("n", ["labels": ["b": 1]])
    try pass(days: 29, engine)
    try engine.send("n", ["labels": ["a": 1]])
    #expect(counters(engine) == [#"{"a":"1"}=2"#, #"{"b":"1"}=1"#])
    try pass(days: 29, engine)
    #expect(counters(engine).count == 2)
    try pass(days: 1, engine)
    #expect(counters(engine) == [#"{"b":"1"}=1"#])
    #expect(try engine.local.query("p.all", subject: nil, arguments: nil).arrayValue?.count == 1)
    #expect(try engine.stored(.counter).count == 2)
    try engine.send("n", ["labels": ["b": 1]])
    #expect(try engine.stored(.counter) == [2])
    try engine.send("n", ["labels": ["a": 1], "n": 7])
    try pass(days: 4_000, engine)
    #expect(counters(engine) == [#"{"a":"1"}=7"#, #"{"b":"1"}=2"#])
  }

  @Test func `a removed counter makes room for other labels, and is gone after a restart`() throws {
    var configuration = Configuration()
    configuration.limits.counters = 2
    let engine = try Engine(["p": Self.counting], configuration: configuration)
    for label in 1...3 as ClosedRange<Int64> { try engine.send("n", ["labels": ["l": .integer(label)], "keep": "1d"]) }
    #expect(counters(engine) == [#"{"l":"1"}=1"#, #"{"l":"2"}=1"#, #"{"other":"true"}=1"#])
    try pass(days: 1, engine)
    for label in 4...6 as ClosedRange<Int64> { try engine.send("n", ["labels": ["l": .integer(label)]]) }
    #expect(counters(engine) == [#"{"l":"4"}=1"#, #"{"l":"5"}=1"#, #"{"other":"true"}=1"#])
    let again = try Engine(["p": Self.counting], store: engine.store, start: engine.local.now)
    #expect(counters(again) == counters(engine) && again.local.context.counters.counts == ["p": 2])
  }

  @Test(arguments: [
    "'5'", "{ keep = 5 }", "{ keep = '0s' }", "{ keep = 'soon' }", "{ keep = '1.5d' }", "{ kept = '1d' }",
    "{ keep = '40000d' }",
  ])
  func `other options are a failure`(_ options: String) throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function() count('p.n', {}, 1, \(options)) end }"])
    #expect(try engine.send("x").failureKinds == ["value"])
  }

  /// Against a plain model: amounts by label with the second of the last count.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `counters equal those of a plain model, in one commit or in many`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let engine = try Engine(["p": Self.counting])
    var model: [String: (sum: Int64, keep: Int64, last: Int64)] = [:]
    for _ in 0..<200 {
      try engine.local.advance(microseconds: Int64.random(in: 0..<(20 * Limits.second), using: &random))
      let label = String(Int.random(in: 0..<4, using: &random)), n = Int64.random(in: -2...3, using: &random)
      let keep = [nil, nil, 5, 30].randomElement(using: &random).flatMap { $0 } as Int64?
      try engine.send(
        "n", ["labels": ["l": .string(label)], "n": .integer(n), "keep": keep.map { .string("\($0)s") } ?? .null])
      let now = engine.local.now.microseconds / Limits.second
      var total = model[label] ?? (0, 0, 0)
      if total.keep > 0, total.last + total.keep <= now { total = (0, 0, 0) }
      model[label] = (total.sum + n, keep ?? total.keep, now)
      let expected = model.filter { $0.value.keep == 0 || $0.value.last + $0.value.keep > now }
        .sorted { $0.key < $1.key }.map { "{\"l\":\"\($0.key)\"}=\($0.value.sum)" }
      #expect(counters(engine) == expected)
    }
  }
}
