import RuledCore
import Synchronization

/// The file that says which files the redo log has: it outlives each of them, so that one that is gone is missed.
///
/// Each change writes a new file, which takes the old one's place in one step.
final class LogManifest: Sendable {
  /// The contents of a manifest.
  struct Contents: Equatable {
    /// The last file that was flushed; the database has its commits and those of all files before it.
    var flushed: UInt64 = 0
    /// The last file that may hold commits; the file's header names the one before it, and so on down to `flushed`.
    var last: UInt64 = 0
    /// The number of the next file.
    var next: UInt64 = 1
  }

  /// The manifest's name in the store's folder.
  static let name = "log.manifest"

  private static let magic = UInt64(littleEndian: 0x6E61_6D64_656C_7572)
  private static let bytes = 40

  private let files: any FileSystem
  private let folder: String
  private let known: Mutex<Contents>

  /// The manifest in a store's folder, which has these contents.
  init(_ files: any FileSystem, folder: String, contents: Contents) {
    self.files = files
    self.folder = folder
    known = Mutex(contents)
  }

  var contents: Contents { known.withLock { $0 } }

  /// Changes the contents, durably; after an error they are as before, and after a crash one or the other.
  func change(_ body: (inout Contents) -> Void) throws(StoreError) {
    try known.withLock { (known) throws(StoreError) in
      var next = known
      body(&next)
      guard next != known else { return }
      try Self.write(next, to: folder, files)
      known = next
    }
  }

  /// Writes a manifest into a store's folder, in place of the one there.
  static func write(_ contents: Contents, to folder: String, _ files: any FileSystem) throws(StoreError) {
    let path = "\(folder)/\(name)"
    let buffer = ByteBuffer(capacity: bytes)
    for word in [magic, contents.flushed, contents.last, contents.next] { append(word, to: buffer) }
    append(hash64(buffer.bytes, seed: magic), to: buffer)
    defer { withExtendedLifetime(buffer) {} }
    // a crash within a rename may have left both names to one file
    if files.exists(path + ".new") { try files.remove(path + ".new") }
    let file = try files.open(path + ".new", .create)
    try file.write(buffer.bytes, at: 0)
    try file.sync()
    try files.rename(path + ".new", to: path)
    try files.syncFolder(folder)
  }

  /// Reads the manifest in a store's folder; nil when there is none.
  static func read(_ files: any FileSystem, folder: String) throws(StoreError) -> Contents? {
    let path = "\(folder)/\(name)"
    guard files.exists(path) else { return nil }
    let file = try files.open(path, .read)
    var words = [UInt64](repeating: 0, count: bytes / 8)
    guard try file.size() == bytes else { throw damaged(path) }
    var problem: StoreError?
    words.withUnsafeMutableBytes { room in
      do throws(StoreError) { try file.read(into: room, at: 0) } catch { problem = error }
    }
    if let problem { throw problem }
    let sum = words.withUnsafeBytes { hash64(ByteView($0).extracting(..<(bytes - 8)), seed: magic) }
    guard UInt64(littleEndian: words[0]) == magic, UInt64(littleEndian: words[4]) == sum else { throw damaged(path) }
    return Contents(
      flushed: UInt64(littleEndian: words[1]), last: UInt64(littleEndian: words[2]),
      next: UInt64(littleEndian: words[3]))
  }

  private static func append(_ word: UInt64, to buffer: ByteBuffer) {
    withUnsafeBytes(of: word.littleEndian) { buffer.append(ByteView($0)) }
  }

  private static func damaged(_ path: String) -> StoreError {
    LogDamage(file: path, offset: 0, what: "it is no manifest of the log, so nobody knows which files belong to it")
      .error
  }
}
