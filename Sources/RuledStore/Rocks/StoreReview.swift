import Glibc
import RuledCore

/// Finds why a start would refuse the store in a folder; changes nothing there.
package enum StoreReview {
  /// The file that a process with the store in the folder `path` has open.
  package static func lock(of path: String) -> String { "\(path)/\(FolderLock.name)" }

  /// Why the store in the folder `path` does not open; nil if it does, if there is none, or while a process has it open.
  ///
  /// With `readsAll`, an entry that can't be read is a problem, too. It says nothing of a folder that can't be used as such.
  package static func problem(of path: String, readsAll: Bool = false) -> StoreError? {
    guard access("\(path)/.", R_OK | W_OK | X_OK) == 0 || errno == ENAMETOOLONG else { return nil }
    let lock = open(lock(of: path), O_RDWR | O_CLOEXEC)
    guard lock >= 0 || errno == ENOENT else { return .system("the store at \(path) can't be opened", errno) }
    defer { if lock >= 0 { close(lock) } }
    guard lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0 else { return nil }
    do throws(StoreError) { try recover(path, readsAll: readsAll) } catch { return error }
    return nil
  }

  /// Opens the database to read only, and recovers the log as a start does.
  private static func recover(_ path: String, readsAll: Bool) throws(StoreError) {
    let files = UnchangedFiles()
    let opening = StoreOpening(
      path: path, files: files, options: RocksOptions(blockCacheBytes: 1 << 20), opensToRead: true)
    try opening.checkDatabase(try LogManifest.read(files, folder: path))
    guard files.exists("\(path)/CURRENT") else { return }
    let (database, manifest) = try opening.run()
    defer { withExtendedLifetime(database) {} }
    let settings = LogSettings()
    let recovery = LogRecovery(
      files: files, folder: opening.logFolder, manifest: manifest, settings: settings,
      memory: SegmentMemoryPool(settings))
    _ = try recovery.run { _ in }
    guard readsAll else { return }
    let cursor = RocksCursor(database, below: nil)
    var isThere = try cursor.seek(to: .empty)
    while isThere { isThere = try cursor.next() }
  }
}

/// The files of this host, to which nothing is written: all changes are dropped.
private struct UnchangedFiles: FileSystem {
  private let files = SystemFiles()

  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile {
    UnchangedFile(path, mode == .create ? nil : try files.open(path, mode))
  }

  func exists(_ path: String) -> Bool { files.exists(path) }
  func names(in folder: String) throws(StoreError) -> [String] { exists(folder) ? try files.names(in: folder) : [] }
  func rename(_: String, to _: String) {}
  func remove(_: String) {}
  func createFolder(_: String) {}
  func syncFolder(_: String) {}
}

private final class UnchangedFile: StoreFile {
  let path: String
  /// The file as it is; nil for one that would be made.
  private let file: (any StoreFile)?

  init(_ path: String, _ file: (any StoreFile)?) {
    self.path = path
    self.file = file
  }

  func size() throws(StoreError) -> Int { try file?.size() ?? 0 }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    try file?.read(into: buffer, at: offset)
  }
  func write(_: ByteView, at _: Int) {}
  func sync() {}
  func resize(to _: Int) {}
  func reserve(_: Int) -> Bool { true }
  func beginWriteback(at _: Int, count _: Int) {}
}
