import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// Single crashes and failing calls that once stopped a start or lost an acknowledged commit.
@Suite(.serialized) struct DiskFaultTests {
  private static let settings = LogSettings(segmentBytes: 1 << 13)

  /// The log that the next start finds.
  private func restarted(_ world: LogWorld, power: Bool, seed: UInt64) throws -> LogWorld {
    var random = SeededRandom(seed: seed)
    let next = LogWorld(world.crash(world.disk.contents, power: power, &random), seed: seed, settings: Self.settings)
    #expect(try next.open() == nil, "\(next.report)")
    return next
  }

  private func opened(seed: UInt64) throws -> LogWorld {
    let world = LogWorld(seed: seed, settings: Self.settings)
    #expect(try world.open() == nil)
    return world
  }

  @Test(arguments: [false, true])
  func `starts between which nothing is committed leave a log that opens`(power: Bool) throws {
    var world = try opened(seed: 1)
    for seed in UInt64(2)..<8 {
      if seed % 3 != 0 { world.commit(durable: true) }
      world = try restarted(world, power: power, seed: seed)
    }
  }

  @Test(arguments: [false, true])
  func `a file without commits before a larger one stays as long as that one`(power: Bool) throws {
    var world = try opened(seed: 1)
    world.append(bytes: 40_000)
    world.sync()
    for seed in UInt64(2)..<6 { world = try restarted(world, power: power, seed: seed) }
  }

  /// A failed write may have written a part of its bytes, so nothing may rely on the file's header then.
  @Test(arguments: UInt64(1)...20)
  func `a repair that fails at any of its calls leaves a log that opens`(seed: UInt64) throws {
    for distance in 0..<12 {
      let world = try opened(seed: seed)
      world.commit(durable: true)
      world.flush()
      world.append()
      world.disk.failNext { $0.kind == .sync && $0.path.hasSuffix(".log") }
      world.disk.fail(in: 1 + distance)
      world.sync()
      let next = try restarted(world, power: seed % 2 == 0, seed: seed)
      next.commit(durable: true)
      _ = try restarted(next, power: true, seed: seed)
    }
  }

  /// The system may mark as synced what a failed sync did not write: the next start finds it in the cache, and a later sync does not write it.
  @Test(arguments: UInt64(1)...16)
  func `commits that a start finds are on the disk even when a sync of them failed before`(seed: UInt64) throws {
    let world = try opened(seed: seed)
    world.commit(durable: true)
    for _ in 0..<4 { world.append(bytes: 1000) }
    world.disk.failNext { $0.kind == .sync && $0.path.hasSuffix(".log") }
    for distance in 1..<100 { world.disk.fail(in: distance) }
    world.sync()
    let next = try restarted(world, power: false, seed: seed)
    next.commit(durable: true)
    _ = try restarted(next, power: true, seed: seed)
  }

  /// A call that fails while RocksDB ingests a segment.
  enum FlushFault: String, CaseIterable {
    case manifestSync, manifestWrite, tableWrite, tableSync, tableLink, tableOpen, tableRead, folderSync

    func isSuch(_ call: SimulatedDisk.Call) -> Bool {
      let isTable = call.path.hasSuffix(".sst")
      return switch self {
      case .manifestSync: call.kind == .sync && call.path.contains("/MANIFEST-")
      case .manifestWrite: call.kind == .write && call.path.contains("/MANIFEST-")
      case .tableWrite: call.kind == .write && isTable
      case .tableSync: call.kind == .sync && isTable
      case .tableLink: call.kind == .link
      case .tableRead: call.kind == .read && call.path.hasSuffix("r.sst")
      case .tableOpen: call.kind == .open && isTable
      case .folderSync: call.kind == .syncFolder && !call.path.hasSuffix("/log")
      }
    }
  }

  @Test(arguments: FlushFault.allCases, UInt64(1)...4)
  func `a call that fails while RocksDB takes a segment leaves a store that goes on and opens`(
    fault: FlushFault, seed: UInt64
  ) throws {
    try checkFlush(seed: seed) { $0.failNext(fault.isSuch) }
  }

  /// RocksDB does not look at what the reads of a file's first and last key come to.
  @Test(arguments: 1...5)
  func `whichever read of the file that RocksDB takes fails, the store goes on and opens`(number: Int) throws {
    var reads = 0
    try checkFlush(seed: 1) { disk in
      disk.failNext { call in
        guard call.kind == .read, call.path.hasSuffix("r.sst") else { return false }
        reads += 1
        return reads == number
      }
    }
  }

  private func checkFlush(seed: UInt64, _ fail: (SimulatedDisk) -> Void) throws {
    let folder = TemporaryFolder()
    let other = TemporaryFolder()
    var random = SeededRandom(seed: seed)
    let world = RocksWorld(
      RocksWorld.nothing(in: folder.path), path: folder.path, seed: seed, settings: Self.settings)
    #expect(try world.open() == nil)
    world.commit(durable: true, bytes: 1000)
    fail(world.files.disk)
    let failures = world.files.disk.failures
    for _ in 0..<20 { world.commit(durable: true, bytes: 1500) }
    #expect(world.files.disk.failures == failures + 1, "\(world.report)")
    for power in [false, true] {
      var found = world.found(world.files.disk.contents)
      found.disk = power ? found.disk.afterPowerCut(&random) : found.disk.afterKill()
      found.disk.move(folder.path, to: other.path)
      let next = RocksWorld(found, path: other.path, seed: seed, settings: Self.settings)
      #expect(try next.open() == nil, "\(next.report)")
      next.commit(durable: true)
    }
  }
}
