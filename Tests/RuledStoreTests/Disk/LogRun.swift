import RuledCore
import TestSupport

@testable import RuledStore

/// One run of a log on a simulated disk, with crashes at any of its calls.
///
/// The run goes from start to start. Beside it, at calls chosen at random, it produces the state that a crash would leave. The log must open that state,
/// hold what the model says, and continue. Such a start may crash and fail itself.
final class LogRun {
  private(set) var world: LogWorld
  /// The first violation, with the steps before it; nil when there was none.
  private(set) var problem: String?
  /// How many states were tried.
  private(set) var states = 0
  private(set) var failures = 0
  private let settings: LogSettings
  /// Whether calls fail in this run.
  private let isFaulty: Bool
  private var random: SeededRandom
  private var depth = 0

  /// The run of that seed.
  init(seed: UInt64) {
    random = SeededRandom(seed: seed &* 0x1_0001)
    settings = LogSettings(
      segmentBytes: [1 << 12, 1 << 13, 1 << 14][Int.random(in: 0..<3, using: &random)],
      longestBacklog: Int.random(in: 1...3, using: &random), segmentsAtStart: Int.random(in: 0...2, using: &random))
    isFaulty = Int.random(in: 0..<3, using: &random) > 0
    world = LogWorld(seed: seed, settings: settings)
  }

  /// Runs from start to start.
  func run() {
    for life in 0..<3 where problem == nil {
      watch(world)
      begin(world)
      for _ in 0..<Int.random(in: 5...40, using: &random) where problem == nil {
        if isFaulty, Int.random(in: 0..<6, using: &random) == 0 { failSoon(world) }
        fail(world.step(), of: world)
      }
      failures += world.disk.failures
      guard problem == nil, life < 2 else { return }
      states += 1
      let found = world.crash(world.disk.contents, power: Bool.random(using: &random), &random)
      world = LogWorld(found, seed: random.next(), settings: settings)
    }
  }

  /// Makes one of the next calls fail, and maybe a later one too.
  private func failSoon(_ world: LogWorld) {
    world.failsDatabase = true
    let first = Int.random(in: 0..<12, using: &random)
    world.disk.fail(in: first)
    if Bool.random(using: &random) { world.disk.fail(in: first + Int.random(in: 1...6, using: &random)) }
  }

  /// Opens a world.
  ///
  /// It must open unless calls fail.
  private func begin(_ world: LogWorld) {
    if isFaulty, Bool.random(using: &random) { failSoon(world) }
    while problem == nil {
      let failures = world.disk.failures
      do throws(StoreError) {
        fail(try world.open(), of: world)
        return
      } catch {
        let isExpected = world.disk.failures > failures && error.code != .corrupt
        if !isExpected { fail("it does not open: \(error)", of: world) }
      }
    }
  }

  /// Tries the states that crashes leave at some of a world's calls.
  private func watch(_ world: LogWorld) {
    world.disk.beforeCall = { [unowned self, unowned world] state in
      guard problem == nil, depth < 3, Int.random(in: 0..<(depth == 0 ? 4 : 40), using: &random) == 0 else { return }
      explore(world.crash(state, power: Int.random(in: 0..<5, using: &random) > 0, &random), from: world)
    }
  }

  /// Starts from a crash's state, continues, and crashes again.
  private func explore(_ found: LogWorld.Found, from origin: LogWorld) {
    depth += 1
    defer { depth -= 1 }
    states += 1
    let world = LogWorld(found, seed: random.next(), settings: settings)
    watch(world)
    begin(world)
    if problem == nil {
      for _ in 0..<Int.random(in: 0...3, using: &random) where problem == nil { fail(world.step(), of: world) }
      world.commit(durable: true)
      if problem == nil, depth < 3 {
        explore(world.crash(world.disk.contents, power: true, &random), from: world)
      }
    }
    failures += world.disk.failures
    if let known = problem { problem = known + "\n-- after:\n" + origin.report }
  }

  private func fail(_ what: String?, of world: LogWorld) {
    if let what, problem == nil { problem = what + "\n" + world.report }
  }
}

extension LogWorld {
  /// The steps and the calls.
  var report: String { disk.report(notes) }
}

extension SimulatedDisk {
  /// The steps, each before the call that it led to, and the last calls.
  func report(_ notes: [(call: Int, text: String)], last: Int = 150) -> String {
    var lines: [String] = []
    var notes = notes[...]
    for (number, call) in calls.enumerated() {
      while let note = notes.first, note.call <= number {
        lines.append("* \(note.text)")
        notes.removeFirst()
      }
      lines.append("    \(number) \(call)")
    }
    lines += notes.map { "* \($0.text)" }
    return lines.suffix(last).joined(separator: "\n")
  }
}
