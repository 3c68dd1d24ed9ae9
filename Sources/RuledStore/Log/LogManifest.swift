import RuledCore
import Synchronization

/// The file that says which files the redo log has; it outlives each of them, so that a missing file is noticed.
///
/// Each change writes a new file, which takes the old one's place in one step.
final class LogManifest: Sendable {
  struct Contents: Equatable {
    /// The last file that was flushed; the database has its commits and those of all files before it.
    var flushed: UInt64 = 0
    /// The last file that may hold commits; the file's header names the one before it, and so on down to `flushed`.
    var last: UInt64 = 0
    var next: UInt64 = 1
  }

  static let name = "log.manifest"

  private static let magic = UInt64(littleEndian: 0x6E61_6D64_656C_7572)
  private static let bytes = 40

  private let files: any FileSystem
  private let folder: String
  private let known: Mutex<Contents>

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
    let buffer = ByteBuffer(capacity: bytes)
    for word in [magic, contents.flushed, contents.last, contents.next] { append(word, to: buffer) }
    append(hash64(buffer.bytes, seed: magic), to: buffer)
    defer { withExtendedLifetime(buffer) {} }
    try files.replace("\(folder)/\(name)", with: buffer.bytes)
  }

  /// Reads the manifest in a store's folder; nil when there is none.
  static func read(_ files: any FileSystem, folder: String) throws(StoreError) -> Contents? {
    let path = "\(folder)/\(name)"
    guard files.exists(path) else { return nil }
    let contents = try files.contents(of: path)
    guard contents.count == bytes else { throw damaged(path) }
    return try contents.withView { (contents) throws(StoreError) in
      func word(_ index: Int) -> UInt64 { UInt64(littleEndian: contents.load(at: 8 * index, as: UInt64.self)) }
      let sum = hash64(contents.extracting(..<(bytes - 8)), seed: magic)
      guard word(0) == magic, word(4) == sum else { throw damaged(path) }
      return Contents(flushed: word(1), last: word(2), next: word(3))
    }
  }

  private static func append(_ word: UInt64, to buffer: ByteBuffer) {
    withUnsafeBytes(of: word.littleEndian) { buffer.append(ByteView($0)) }
  }

  private static func damaged(_ path: String) -> StoreError {
    .damagedLog(path, "it is no manifest of the log, so nobody knows which files belong to it")
  }
}
