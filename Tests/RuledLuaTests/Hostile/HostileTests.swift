import RuledCore
import Testing

@testable import RuledLua

@Suite(.serialized) struct HostileTests {
  @Test(arguments: HostileScript.all)
  func `every hostile script ends and the next event is handled`(_ script: HostileScript) {
    var ends: HostileScript.Ends = [], next: String?
    onLargeStack {
      ends = HostileScript.Ends(of: script)
      let bench = try? Bench(Bench.rule("state.n = (state.n or 0) + 1 decide('n', state.n)"))
      next = try? bench?.handle(state: #"{"n":1}"#).decisions["n"]
    }
    #expect(!ends.isEmpty && script.ends.isSuperset(of: ends), "it ended as \(ends)")
    #expect(next == "2")
  }

  @Test(arguments: HostileScript.all)
  func `every hostile script ends likewise when it is not counted at first`(_ script: HostileScript) {
    var ends: HostileScript.Ends = [], next: String?
    onLargeStack {
      ends = HostileScript.Ends(of: script, attempting: true)
      let bench = try? Bench(Bench.rule("state.n = (state.n or 0) + 1 decide('n', state.n)"))
      next = try? bench?.runUncounted(state: #"{"n":1}"#).outcome.decisions["n"]
    }
    #expect(!ends.isEmpty && script.ends.isSuperset(of: ends), "it ended as \(ends)")
    #expect(next == "2")
  }
}

extension HostileScript.Ends: CustomStringConvertible {
  /// How a script ends, in a first VM and in the one that replaces it if it died.
  init(of script: HostileScript, attempting: Bool = false) {
    self.init()
    do {
      let bench = try Bench(script.source, name: "hostile")
      let event = #"{"data":{"a":1}}"#
      for _ in 1...2 {
        let outcome =
          attempting
          ? try bench.runUncounted(event, budget: script.budget).outcome
          : try bench.handle(event, budget: script.budget)
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
