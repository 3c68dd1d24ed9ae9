import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// Runs the store on a simulated disk, where any state after a power cut or a kill can be produced and any call can fail.
///
/// The seed decides a run: `RULED_DISK_SEED=7` repeats one and prints its steps and calls. `RULED_DISK_STATES=1000000` tries that
/// many states of the log, and a hundredth of that of the whole store, with seeds from `RULED_DISK_FIRST` on.
@Suite(.serialized) struct DiskTests {
  private static func environment(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

  /// The result of one run.
  private struct Outcome {
    var states: Int
    var failures: Int
    var problem: String?
  }

  /// Runs one seed after the other until that many states have been tried.
  private func run(_ what: String, states wanted: Int, _ body: (UInt64) -> Outcome) {
    let only = Self.environment("RULED_DISK_SEED")
    let first = UInt64(only ?? Self.environment("RULED_DISK_FIRST") ?? 1)
    var seed = first
    var total = Outcome(states: 0, failures: 0)
    var problems = 0
    repeat {
      let outcome = body(seed)
      total.states += outcome.states
      total.failures += outcome.failures
      if let problem = outcome.problem {
        problems += 1
        Issue.record("RULED_DISK_SEED=\(seed): \(problem)")
      }
      seed += 1
    } while only == nil && problems < 5 && total.states < wanted
    print("\(what): \(total.states) states, \(total.failures) failed calls, seeds \(first) to \(seed - 1)")
  }

  @Test func `after a power cut, a kill or failing calls, the log opens and holds all that it said`() {
    run("log", states: Self.environment("RULED_DISK_STATES") ?? 500) { seed in
      let run = LogRun(seed: seed)
      run.run()
      return Outcome(states: run.states, failures: run.failures, problem: run.problem)
    }
  }

  @Test func `after faults in the log and RocksDB's files together, the store opens and holds all that it said`() {
    run("store", states: Self.environment("RULED_DISK_STATES").map { $0 / 100 } ?? 150) { seed in
      let run = RocksRun(seed: seed)
      run.run()
      return Outcome(states: run.states, failures: run.failures, problem: run.problem)
    }
  }
}
