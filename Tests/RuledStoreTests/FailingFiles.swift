import Glibc
import RuledCore
import Synchronization
import TestSupport

@testable import RuledStore

/// The operating system's files, of which some calls fail.
///
/// Syncs of the log's segments fail at random, or writes beyond a length. That stands in for the limit on file sizes, which
/// would hold for the whole process and so for other tests too.
final class FailingFiles: FileSystem {
  private let files = SystemFiles()
  private let random: Mutex<SeededRandom>
  private let chance = Atomic<Int>(0)
  private let limit = Atomic<Int>(.max)

  /// Fails nothing yet; `seed` chooses the syncs that fail.
  init(seed: UInt64 = 1) { random = Mutex(SeededRandom(seed: seed)) }

  private let nextSync = Mutex<(@Sendable () -> Void)?>(nil)
  private let writeCount = Atomic<Int>(0)

  /// How many writes segments got.
  var writes: Int { writeCount.load(ordering: .acquiring) }

  /// Makes the next sync of a segment call `body` and then fail.
  func failNextSync(after body: @escaping @Sendable () -> Void) { nextSync.withLock { $0 = body } }

  /// One of that many syncs fails; 0 for none.
  var failsOneSyncIn: Int {
    get { chance.load(ordering: .relaxed) }
    set { chance.store(newValue, ordering: .relaxed) }
  }

  /// Runs `body` while writes to a segment beyond that many bytes fail.
  func withSizeLimit<Result>(_ bytes: Int, _ body: () throws -> Result) rethrows -> Result {
    limit.store(bytes, ordering: .relaxed)
    defer { limit.store(.max, ordering: .relaxed) }
    return try body()
  }

  /// How many bytes a segment may have now.
  fileprivate var sizeLimit: Int { limit.load(ordering: .relaxed) }

  fileprivate func countWrite() { writeCount.wrappingAdd(1, ordering: .releasing) }

  fileprivate func isFailing() -> Bool {
    if let body = nextSync.withLock({ $0.take() }) {
      body()
      return true
    }
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
  func write(_ bytes: ByteView, at offset: Int) throws(StoreError) {
    let room = max(0, files.sizeLimit - offset)
    defer { files.countWrite() }
    guard bytes.count > room else { return try file.write(bytes, at: offset) }
    try file.write(bytes.extracting(..<room), at: offset)
    throw StoreError.system("the file \(path) can't be written", EFBIG)
  }
  func sync() throws(StoreError) {
    if files.isFailing() { throw StoreError(.inputOutput, "a sync was made to fail") }
    try file.sync()
  }
  func resize(to bytes: Int) throws(StoreError) { try file.resize(to: bytes) }
  func reserve(_ bytes: Int) -> Bool { file.reserve(bytes) }
  func beginWriteback(at offset: Int, count: Int) { file.beginWriteback(at: offset, count: count) }
}
