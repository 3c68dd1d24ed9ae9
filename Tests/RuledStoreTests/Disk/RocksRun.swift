import RuledCore
import Synchronization
import TestSupport

@testable import RuledStore

/// One run of a whole store on a simulated disk, with crashes at any of its calls, RocksDB's included.
final class RocksRun {
  /// The first violation, with the steps before it; nil when there was none.
  private(set) var problem: String?
  /// How many states were tried.
  private(set) var states = 0
  private(set) var failures = 0
  private let folder = TemporaryFolder()
  private let settings = LogSettings(segmentBytes: 1 << 13, longestBacklog: 2, segmentsAtStart: 1)
  private let isFaulty: Bool
  private var random: SeededRandom
  /// The states at calls chosen at random, of any thread.
  private let taken = Mutex<(random: SeededRandom, found: [RocksWorld.Found])>((SeededRandom(seed: 0), []))

  /// The run of that seed.
  init(seed: UInt64) {
    random = SeededRandom(seed: seed &* 0x1_0003)
    isFaulty = Bool.random(using: &random)
    taken.withLock { $0.random = SeededRandom(seed: seed) }
  }

  /// Runs some starts, and tries the states that were taken meanwhile.
  func run() {
    var found = RocksWorld.nothing(in: folder.path)
    for _ in 0..<3 where problem == nil {
      let world = RocksWorld(found, path: folder.path, seed: random.next(), settings: settings)
      take(from: world, oneIn: 20)
      begin(world)
      for _ in 0..<12 where problem == nil {
        if isFaulty, Int.random(in: 0..<3, using: &random) == 0 { failSoon(world) }
        world.step()
        tryTaken(from: world)
      }
      world.leave()
      world.files.disk.beforeCall = nil
      tryTaken(from: world)
      failures += world.files.disk.failures
      found = crash(world.found(world.files.disk.contents), power: Bool.random(using: &random))
      states += 1
    }
  }

  private func crash(_ found: RocksWorld.Found, power: Bool) -> RocksWorld.Found {
    RocksWorld.Found(
      disk: power ? found.disk.afterPowerCut(&random) : found.disk.afterKill(), model: found.model,
      keepsCommitted: !power && found.keepsCommitted, hasFailed: found.hasFailed)
  }

  private func failSoon(_ world: RocksWorld) {
    let first = Int.random(in: 0..<60, using: &random)
    world.files.disk.fail(in: first)
    if Bool.random(using: &random) { world.files.disk.fail(in: first + Int.random(in: 1...8, using: &random)) }
  }

  /// Opens a world.
  ///
  /// It must open unless calls fail.
  private func begin(_ world: RocksWorld) {
    if isFaulty, Bool.random(using: &random) { failSoon(world) }
    while problem == nil {
      let failures = world.files.disk.failures
      do throws(StoreError) {
        fail(try world.open(), of: world)
        return
      } catch {
        let isExpected = world.files.disk.failures > failures && error.code != .corrupt
        if !isExpected { fail("it does not open: \(error)", of: world) }
      }
    }
  }

  /// Keeps the states at some of the calls.
  private func take(from world: RocksWorld, oneIn count: Int) {
    world.files.disk.beforeCall = { [unowned self, unowned world] state in
      taken.withLock { taken in
        if Int.random(in: 0..<count, using: &taken.random) == 0 { taken.found.append(world.found(state)) }
      }
    }
  }

  private func tryTaken(from origin: RocksWorld) {
    let found = taken.withLock { taken in
      defer { taken.found.removeAll() }
      return taken.found
    }
    for found in found where problem == nil {
      explore(crash(found, power: Int.random(in: 0..<4, using: &random) > 0), at: folder.path, isLast: false)
      if let known = problem { problem = known + "\n-- after:\n" + origin.report }
    }
  }

  /// Starts from a crash's state, a store in the folder `path`, continues, and crashes again.
  ///
  /// It runs in a folder of its own, because the run's store has its folder locked.
  private func explore(_ found: RocksWorld.Found, at path: String, isLast: Bool) {
    states += 1
    let other = TemporaryFolder()
    var found = found
    found.disk.move(path, to: other.path)
    let world = RocksWorld(found, path: other.path, seed: random.next(), settings: settings)
    begin(world)
    if problem == nil, !isLast {
      world.step()
      world.commit(durable: true)
      world.flush()
      let next = crash(world.found(world.files.disk.contents), power: true)
      world.leave()
      explore(next, at: other.path, isLast: true)
      if let known = problem { problem = known + "\n-- after:\n" + world.report }
    }
    failures += world.files.disk.failures
  }

  private func fail(_ what: String?, of world: RocksWorld) {
    if let what, problem == nil { problem = what + "\n" + world.report }
  }
}
