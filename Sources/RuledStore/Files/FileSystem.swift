package import RuledCore

/// All calls on files that the store makes: to the operating system, or in tests to a simulated disk.
///
/// A name is durable once its folder has been synced, and the bytes of a file once the file has been.
package protocol FileSystem: Sendable {
  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile

  /// Renames a file; replaces the file of the new name if there is one.
  func rename(_ path: String, to target: String) throws(StoreError)

  func remove(_ path: String) throws(StoreError)

  func exists(_ path: String) -> Bool

  /// The names in a folder, in no order, without `.` and `..`.
  func names(in folder: String) throws(StoreError) -> [String]

  /// Makes a folder and its parents where they don't exist yet; their names are durable.
  func createFolder(_ path: String) throws(StoreError)

  /// Makes the names in a folder durable.
  func syncFolder(_ path: String) throws(StoreError)
}

extension FileSystem {
  package func contents(of path: String) throws(StoreError) -> [UInt8] {
    let file = try open(path, .read)
    let buffer = ByteBuffer()
    try file.read(try file.size(), at: 0, into: buffer)
    return Array(buffer.bytes)
  }

  /// Gives the file `path` these contents durably; after a crash it has them or its earlier ones.
  package func replace(_ path: String, with bytes: ByteView) throws(StoreError) {
    // a crash within a rename may have left both names to one file
    if exists(path + ".new") { try remove(path + ".new") }
    try create(path + ".new", with: bytes)
    try rename(path + ".new", to: path)
    try syncFolder(path.parentFolder)
  }

  /// Makes the file `path` of these bytes, which are durable then; its name is once its folder has been synced.
  package func create(_ path: String, with bytes: ByteView) throws(StoreError) {
    let file = try open(path, .create)
    try file.write(bytes, at: 0)
    try file.sync()
  }
}

package enum FileMode: Sendable {
  /// To read a file that exists.
  case read
  /// To read and write a file that exists.
  case update
  /// To write a new file, or an existing one anew from its beginning.
  case create
}
