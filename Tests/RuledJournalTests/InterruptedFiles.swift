import RuledCore
import RuledStore
import Synchronization

/// The operating system's files, where calls that write fail: after a number of them, or all for a while.
final class InterruptedFiles: FileSystem {
  private let files = SystemFiles()
  private let left = Atomic<Int>(.max)
  private let calls = Atomic<Int>(0)

  /// How many calls that write there were.
  var count: Int { calls.load(ordering: .relaxed) }

  /// Lets so many further calls that write succeed, and fails all after them.
  func fail(after count: Int) { left.store(count, ordering: .relaxed) }

  func mend() { left.store(.max, ordering: .relaxed) }

  fileprivate func check(_ path: String) throws(StoreError) {
    calls.wrappingAdd(1, ordering: .relaxed)
    guard left.load(ordering: .relaxed) != .max else { return }
    guard left.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 else {
      left.store(0, ordering: .relaxed)
      throw StoreError(.diskFull, "no space for \(path)")
    }
  }

  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile {
    if case .create = mode { try check(path) }
    return InterruptedFile(try files.open(path, mode), of: self)
  }
  func rename(_ path: String, to target: String) throws(StoreError) {
    try check(path)
    try files.rename(path, to: target)
  }
  func remove(_ path: String) throws(StoreError) { try files.remove(path) }
  func exists(_ path: String) -> Bool { files.exists(path) }
  func names(in folder: String) throws(StoreError) -> [String] { try files.names(in: folder) }
  func createFolder(_ path: String) throws(StoreError) { try files.createFolder(path) }
  func syncFolder(_ path: String) throws(StoreError) {
    try check(path)
    try files.syncFolder(path)
  }
}

private final class InterruptedFile: StoreFile {
  private let file: any StoreFile
  private let files: InterruptedFiles

  init(_ file: any StoreFile, of files: InterruptedFiles) {
    self.file = file
    self.files = files
  }

  var path: String { file.path }
  func size() throws(StoreError) -> Int { try file.size() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    try file.read(into: buffer, at: offset)
  }
  func write(_ bytes: ByteView, at offset: Int) throws(StoreError) {
    do throws(StoreError) { try files.check(path) } catch {
      // as much as a full disk takes
      try file.write(bytes.extracting(first: bytes.count / 2), at: offset)
      throw error
    }
    try file.write(bytes, at: offset)
  }
  func sync() throws(StoreError) {
    try files.check(path)
    try file.sync()
  }
  func resize(to bytes: Int) throws(StoreError) { try file.resize(to: bytes) }
  func reserve(_ bytes: Int) -> Bool { file.reserve(bytes) }
  func beginWriteback(at offset: Int, count: Int) { file.beginWriteback(at: offset, count: count) }
}
