import RuledCore
import Testing

@testable import RuledLua

@Suite(.serialized) struct HostileTests {
  @Test(arguments: HostileScript.all)
  func `every hostile script ends and the next event is handled`(_ script: HostileScript) {
    var ends: HostileScript.Ends = [], uncounted: String?, counted: String?
    onLargeStack {
      ends = HostileScript.Ends(of: script)
      let bench = try? Bench(Bench.rule("state.n = (state.n or 0) + 1 decide('n', state.n)"))
      uncounted = try? bench?.runUncounted(state: #"{"n":1}"#).outcome.decisions["n"]
      counted = try? bench?.handle(state: #"{"n":2}"#).decisions["n"]
    }
    #expect(!ends.isEmpty && script.ends.isSuperset(of: ends), "it ended as \(ends)")
    #expect([uncounted, counted] == ["2", "3"])
  }
}

extension HostileScript.Ends: CustomStringConvertible {
  /// How a script ends where its instructions are not counted at first, and then where they are; a VM that died is replaced.
  init(of script: HostileScript) {
    self.init()
    do {
      let bench = try Bench(script.source, name: "hostile")
      let event = #"{"data":{"a":1}}"#
      let attempt = try bench.runUncounted(event, budget: script.budget).outcome
      for outcome in [attempt, try bench.handle(event, budget: script.budget)] {
        formUnion(Self.end(outcome.failure?.kind))
      }
    } catch {
      formUnion(.refused)
    }
  }

  private static func end(_ kind: Failure.Kind?) -> Self {
    switch kind {
    case nil: .done
    case .error: .error
    case .instructions: .instructions
    case .memory: .memory
    case .time: .time
    case .state: .state
    case .value: .value
    case .cycle, .migration: []
    }
  }

  var description: String {
    let names = ["done", "error", "instructions", "memory", "time", "state", "value", "refused"]
    return names.indices.filter { rawValue & (1 << $0) != 0 }.map { names[$0] }.joined(separator: " or ")
  }
}
