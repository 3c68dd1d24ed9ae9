import RuledCore
import Testing

@testable import RuledLua

/// Rules run uncounted first; only the clock may show a difference.
///
/// A host that stalls lets a short run take too long, but hardly twenty in a row.
@Suite(.serialized) struct UncountedRunTests {
  private let spender = """
    local n = tonumber(event.data.n)
    for i = 1, n do end
    state.n = n
    decide("n", n)
    """

  private func event(_ count: Int) -> String { #"{"data":{"n":"\#(count)"}}"# }

  @Test func `a short rule is valid as it ran and keeps its VM`() throws {
    let bench = try Bench(Bench.rule("state.n = (state.n or 0) + 1 decide('n', state.n)"))
    var state = ""
    for n in 1...2000 {
      let outcome = try bench.runUncounted(state: state).outcome
      state = try #require(outcome.state)
      #expect(outcome.decisions["n"] == "\(n)")
    }
    #expect(bench.built < 100, "a void attempt takes a new VM")
  }

  @Test func `a rule near the budget ends as it does when it is counted`() throws {
    let bench = try Bench(Bench.rule(spender))
    for count in stride(from: 990_000, through: 1_002_000, by: 1_000) {
      let counted = try bench.handle(event(count))
      for _ in 1...3 {
        let (attempted, held) = try bench.runUncounted(event(count))
        #expect(!held)
        #expect(attempted.failure == counted.failure)
        #expect(attempted.decisions == counted.decisions && attempted.state == counted.state)
      }
    }
  }

  @Test func `a larger budget is kept to as exactly`() throws {
    let bench = try Bench(Bench.rule(spender))
    let budget = Budget(instructions: 8_000_000, processorTime: 5_000_000)
    #expect(try bench.runUncounted(event(7_990_000), budget: budget).outcome.failure == nil)
    #expect(try bench.runUncounted(event(8_010_000), budget: budget).outcome.failure?.kind == .instructions)
  }

  @Test func `a small budget is counted at once`() throws {
    let bench = try Bench(Bench.rule(spender))
    let (outcome, held) = try bench.runUncounted(event(20_000), budget: Budget(instructions: 10_000))
    #expect(held && outcome.failure?.kind == .instructions)
  }

  @Test func `a void attempt leaves nothing behind`() throws {
    let source = Bench.rule(
      """
      decide("id", uuid())
      decide("drawn", math.random(1, 1000000))
      emit("client", "t", { id = uuid() })
      log.info("seen")
      count("c")
      state.list = { math.random(100) }
      for i = 1, 900000 do end
      """)
    let bench = try Bench(source), other = try Bench(source)
    let counted = try other.handle()
    let (attempted, held) = try bench.runUncounted()
    #expect(!held && attempted.failure == nil)
    #expect(attempted.operations == counted.operations && attempted.state == counted.state)
  }

  @Test func `an error of a short rule is its own`() throws {
    let bench = try Bench(Bench.rule("local x = nil + 1"))
    let counted = try bench.handle()
    #expect(counted.failure?.kind == .error && counted.failure?.rule == "r")
    let attempts = try (1...20).map { _ in try bench.runUncounted() }
    #expect(attempts.contains { $0.held })
    #expect(attempts.allSatisfy { $0.outcome.failure == counted.failure })
  }

  @Test func `coroutines are charged without the count too`() throws {
    let bench = try Bench(
      Bench.rule("for i = 1, 20000 do coroutine.wrap(function() end)() end"))
    #expect(try bench.runUncounted().outcome.failure?.kind == .instructions)
    #expect(try bench.handle().failure?.kind == .instructions)
  }
}
