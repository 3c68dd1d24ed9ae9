import Glibc
import RuledCore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledStore

/// Threads commit at the same time, while segments are sealed and flushed and while syncs fail.
@Suite(.serialized) struct CommitThreadTests {
  private let folder = TemporaryFolder()

  /// Runs `body` on threads at the same time, with the number of each; gives the errors.
  private func run(threads count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws -> [String] {
    let shared = Shared()
    let threads = try (0..<count).map { number in
      try Thread(name: "test") {
        do { try body(number) } catch { shared.errors.withLock { $0.append("\(number): \(error)") } }
      }
    }
    for thread in threads { thread.join() }
    return shared.errors.withLock { $0 }
  }

  private final class Shared: Sendable {
    let errors = Mutex<[String]>([])
  }

  private final class Gate: Sendable {
    let isOpen = Atomic<Bool>(false)
  }

  private static func set(_ key: String, bytes: Int) -> WriteSet {
    let set = WriteSet()
    set.put(Array(key.utf8), [UInt8](repeating: 7, count: bytes))
    return set
  }

  @Test func `commits of several threads are all there, while segments are sealed and flushed`() throws {
    let store = try RocksStore(path: folder.path, blockCacheBytes: 1 << 20, settings: .small)
    let rounds = 1_000
    let errors = try run(threads: 4) { number in
      for round in 0..<rounds {
        let set = Self.set("r\(number)-\(round)", bytes: round % 300)
        switch number {
        case 0:
          let sequence = try store.append(set)
          if round % 100 == 0 { #expect(try store.syncCommits() >= sequence) }
        case 1: try store.commit(set, durable: false)
        case 2: try store.commit(set, durable: round % 20 == 0)
        default:
          try store.commit(set, durable: false)
          if round % 500 == 0 { try store.compact() }
        }
      }
    }
    #expect(errors == [])
    try store.close()
    let found = try RocksStore(path: folder.path, blockCacheBytes: 1 << 20).pairs()
    #expect(found.count == 4 * rounds)
  }

  @Test func `a commit that waits for its sync is told that it was lost, when another's sync failed and reopened`()
    throws
  {
    let files = FailingFiles()
    // Without a flush thread all syncs are those of commits.
    let store = try RocksStore(
      path: folder.path, blockCacheBytes: 1 << 20, flushes: false, files: files, settings: .small)
    for round in 0..<40 {
      _ = try store.append(Self.set("ra\(round)", bytes: 8))
      let gate = Gate()
      files.failNextSync {
        let before = files.writes
        gate.isOpen.store(true, ordering: .releasing)
        while files.writes == before { sched_yield() }
      }
      let errors = try run(threads: 2) { number in
        if number == 0 {
          #expect(throws: StoreError.self) { try store.syncCommits() }
          try store.reopen()
        } else {
          while !gate.isOpen.load(ordering: .acquiring) { sched_yield() }
          #expect(throws: StoreError.self) { try store.commit(Self.set("rb\(round)", bytes: 8), durable: true) }
        }
      }
      #expect(errors == [])
      #expect(try store.pairs().isEmpty)
    }
  }

  /// The keys of the commits, grouped by the store's answer.
  private final class Results: Sendable {
    struct Keys {
      var durable: Set<String> = []
      var lost: Set<String> = []
    }

    let keys = Mutex(Keys())
    let left = Atomic<Int>(0)

    /// Whether there are commits of both kinds.
    var hasBoth: Bool { keys.withLock { !$0.durable.isEmpty && !$0.lost.isEmpty } }
  }

  private func check(_ results: Results, _ store: RocksStore) throws {
    let found = Set(try store.pairs().map { String(decoding: $0.key, as: UTF8.self) })
    let (durable, lost) = results.keys.withLock { ($0.durable, $0.lost) }
    #expect(durable.subtracting(found) == [], "acknowledged and not there")
    #expect(lost.intersection(found) == [], "said to be lost and there")
  }

  @Test(arguments: UInt64(1)...4)
  func `each commit has the outcome that its thread was told, whichever thread failed to sync or reopened the store`(
    seed: UInt64
  ) throws {
    let live = folder.path + "/live"
    let files = FailingFiles(seed: seed)
    let store = try RocksStore(path: live, blockCacheBytes: 1 << 20, files: files, settings: .small)
    files.failsOneSyncIn = 12
    let results = Results()
    let writers = 3
    results.left.store(writers, ordering: .relaxed)
    let errors = try run(threads: writers + 1) { number in
      guard number < writers else {
        while results.left.load(ordering: .acquiring) > 0 {
          if store.state.failure != nil { try? store.reopen() } else { sched_yield() }
        }
        return
      }
      defer { results.left.wrappingSubtract(1, ordering: .releasing) }
      // How the threads meet decides which commits are lost: go on until some are.
      for round in 0..<50_000 where round < 200 || !results.hasBoth {
        let key = "r\(number)-\(round)"
        do throws(StoreError) {
          try store.commit(Self.set(key, bytes: 40 * (round % 9)), durable: true)
          results.keys.withLock { _ = $0.durable.insert(key) }
        } catch {
          if !error.isOutcomeUnknown { results.keys.withLock { _ = $0.lost.insert(key) } }
        }
      }
    }
    #expect(errors == [])
    files.failsOneSyncIn = 0
    if store.state.failure != nil { try store.reopen() }
    #expect(results.hasBoth)
    try check(results, store)
    try store.close()
    try check(results, try RocksStore(path: live, blockCacheBytes: 1 << 20))
  }
}
