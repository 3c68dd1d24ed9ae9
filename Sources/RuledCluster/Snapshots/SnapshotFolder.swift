import Glibc
import RuledCore
import RuledStore

/// The snapshots of one cluster, in a folder that all its nodes share: `<folder>/<cluster's id>/<snapshot's name>`.
///
/// A snapshot is written under a temporary name, and renamed when all of it is on the disk.
struct SnapshotFolder: SnapshotStorage {
  let root: String
  let cluster: String

  let kind = "folder"
  private static let unfinished = ".unfinished"

  var folderForSpace: String? { root }
  private var path: String { "\(root)/\(cluster)" }

  func path(of name: String, _ file: String?) -> String { "\(path)/\(name)" + (file.map { "/\($0)" } ?? "") }

  /// Throws if the configured folder is missing.
  ///
  /// It is not created: perhaps its file system is not mounted.
  func check() throws(StoreError) {
    guard access(root, R_OK | X_OK) == 0 else {
      throw StoreError(
        .inputOutput,
        "the folder \(root) of cluster.snapshots can't be used: mount it, or make it for the daemon's user, on all nodes",
        underlying: String(cString: strerror(errno)))
    }
  }

  func add(_ folder: String, to name: String, progress: CopyProgress) throws(StoreError) -> [FileSum] {
    let new = "\(path)/\(name)\(Self.unfinished)"
    try Folder.create(new)
    return try FileSums.copyAll(from: folder, to: new, progress: progress)
  }

  func finish(_ name: String, list: [UInt8], progress: CopyProgress) throws(StoreError) {
    let new = "\(path)/\(name)\(Self.unfinished)"
    try list.withView { (bytes) throws(StoreError) in
      try SystemFiles().create("\(new)/\(SnapshotManifest.name)", with: bytes)
    }
    try Folder.sync(new)
    guard rename(new, "\(path)/\(name)") == 0 else {
      throw StoreError(
        .inputOutput, "the snapshot \(new) can't get its name", underlying: String(cString: strerror(errno)))
    }
    try Folder.sync(path)
  }

  func list(of name: String, progress: CopyProgress) throws(StoreError) -> [UInt8]? {
    guard access("\(path)/\(name)", F_OK) == 0 else { return nil }
    return try SystemFiles().contents(of: "\(path)/\(name)/\(SnapshotManifest.name)")
  }

  func verify(_ files: [FileSum], of name: String, progress: CopyProgress) throws(StoreError) {
    try FileSums.check(files, in: "\(path)/\(name)", progress: progress)
  }

  func copy(_ files: [FileSum], of name: String, to target: String, progress: CopyProgress) throws(StoreError) {
    try FileSums.copy(files, from: "\(path)/\(name)", to: target, progress: progress)
  }

  func names(progress: CopyProgress) throws(StoreError) -> [(name: String, isWhole: Bool)] {
    guard access(path, F_OK) == 0 else { return [] }
    return try Folder.names(path).map { ($0, !$0.hasSuffix(Self.unfinished)) }
  }

  func remove(_ name: String, progress: CopyProgress) throws(StoreError) {
    var folder = "\(path)/\(name)"
    if !name.hasSuffix(Self.unfinished) {
      guard rename(folder, folder + Self.unfinished) == 0 else { return }
      folder += Self.unfinished
    }
    try StoreCheckpoints.remove(folder)
  }
}
