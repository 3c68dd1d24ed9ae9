import RuledCore
import Synchronization
import TestSupport
import Testing

@testable import RuledStore

/// Threads that commit at the same time, while segments are sealed and flushed, and while syncs fail.
@Suite(.serialized) struct CommitThreadTests {
  private let folder = TemporaryFolder()

  /// Runs `body` on threads at the same time, with the number of each; gives the errors.
  private func run(threads count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws -> [String] {
    let shared = Shared()
    let threads = try (0..<count).map { number in
      try FlushThread {
        do { try body(number) } catch { shared.errors.withLock { $0.append("\(number): \(error)") } }
      }
    }
    for thread in threads { thread.join() }
    return shared.errors.withLock { $0 }
  }

  private final class Shared: Sendable {
    let errors = Mutex<[String]>([])
  }

  private static func set(_ key: String, bytes: Int) -> WriteSet {
    let set = WriteSet()
    set.put(Array(key.utf8), [UInt8](repeating: 7, count: bytes))
    return set
  }

  @Test func `commits of several threads are all there, while segments are sealed and flushed`() throws {
    let store = try RocksStore(path: folder.path, blockCacheBytes: 1 << 20, settings: .small)
    let rounds = 1_500
    let errors = try run(threads: 4) { number in
      for round in 0..<rounds {
        let set = Self.set("r\(number)-\(round)", bytes: round % 300)
        switch number {
        case 0:
          let sequence = try store.append(set)
          if round % 100 == 0 { #expect(try store.sync() >= sequence) }
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

  /// The keys that commits were of, by what the store said of them.
  private final class Results: Sendable {
    struct Keys {
      var durable: Set<String> = []
      var lost: Set<String> = []
    }

    let keys = Mutex(Keys())
    let left = Atomic<Int>(0)
  }

  private func check(_ results: Results, _ store: RocksStore) throws {
    let found = Set(try store.pairs().map { String(decoding: $0.key, as: UTF8.self) })
    let (durable, lost) = results.keys.withLock { ($0.durable, $0.lost) }
    #expect(durable.subtracting(found) == [], "acknowledged and not there")
    #expect(lost.intersection(found) == [], "said to be lost and there")
  }

  @Test(arguments: UInt64(1)...6)
  func `each commit is what its thread was told, whichever thread's sync failed and whoever reopened the store`(
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
          if store.state.failure != nil { try? store.reopen() }
        }
        return
      }
      defer { results.left.wrappingSubtract(1, ordering: .releasing) }
      for round in 0..<400 {
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
    #expect(results.keys.withLock { !$0.durable.isEmpty && !$0.lost.isEmpty })
    try check(results, store)
    try store.close()
    try check(results, try RocksStore(path: live, blockCacheBytes: 1 << 20))
  }
}

/// The operating system's files, of which syncs of the log's segments fail at random.
private final class FailingFiles: FileSystem {
  private let files = SystemFiles()
  private let random: Mutex<SeededRandom>
  private let chance = Atomic<Int>(0)

  init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

  /// One sync in so many fails; none when it is 0.
  var failsOneSyncIn: Int {
    get { chance.load(ordering: .relaxed) }
    set { chance.store(newValue, ordering: .relaxed) }
  }

  func isFailing() -> Bool {
    let count = failsOneSyncIn
    return count > 0 && random.withLock { Int.random(in: 0..<count, using: &$0) == 0 }
  }

  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile {
    let file = try files.open(path, mode)
    return path.hasSuffix(".log") ? FailingFile(file, of: self) : file
  }

  func rename(_ path: String, to target: String) throws(StoreError) { try files.rename(path, to: target) }
  func remove(_ path: String) throws(StoreError) { try files.remove(path) }
  func exists(_ path: String) -> Bool { files.exists(path) }
  func names(in folder: String) throws(StoreError) -> [String] { try files.names(in: folder) }
  func createFolder(_ path: String) throws(StoreError) { try files.createFolder(path) }
  func syncFolder(_ path: String) throws(StoreError) { try files.syncFolder(path) }
}

private final class FailingFile: StoreFile {
  private let file: any StoreFile
  private let files: FailingFiles

  init(_ file: any StoreFile, of files: FailingFiles) {
    self.file = file
    self.files = files
  }

  var path: String { file.path }
  func size() throws(StoreError) -> Int { try file.size() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    try file.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) { try file.write(bytes, at: offset) }
  func sync() throws(StoreError) {
    if files.isFailing() { throw StoreError(.inputOutput, "a sync was made to fail") }
    try file.sync()
  }
  func resize(to bytes: Int) throws(StoreError) { try file.resize(to: bytes) }
  func reserve(_ bytes: Int) -> Bool { file.reserve(bytes) }
  func beginWriteback(at offset: Int, count: Int) { file.beginWriteback(at: offset, count: count) }
}
