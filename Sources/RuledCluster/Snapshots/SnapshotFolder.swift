import Glibc
import RuledCore
import RuledStore

/// The snapshots of one cluster, in a folder that all its nodes share: `<folder>/<cluster's id>/<snapshot's name>`.
///
/// A snapshot is a store as a kill would leave it, with `SNAPSHOT`, the list of its files and their checksums. It is written under a
/// temporary name, and renamed when all of it is on the disk. From then on it never changes.
struct SnapshotFolder {
  /// The configured folder.
  let root: String
  /// The cluster's id.
  let cluster: String

  static let list = "SNAPSHOT"
  private static let unfinished = ".unfinished"

  /// The folder of the cluster's snapshots.
  private var path: String { "\(root)/\(cluster)" }

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

  // MARK: Writing

  /// Writes a snapshot of `played`, verifies it, and returns its entry for the list.
  ///
  /// `progress` is called often, and may throw to stop. `clean` removes what is left behind after an error.
  func write(
    _ played: PlayedStore, by node: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) -> Snapshot {
    try check()
    do throws(StoreError) {
      try Folder.create(path)
      let copy = try StoreCopy(checkpointOf: played.store, in: played.store.path, name: "snapshot")
      var random = SystemRandomNumberGenerator()
      let name = UUIDText.random(random.next(), random.next()).text
      let new = "\(path)/\(name)\(Self.unfinished)"
      try Folder.create(new)
      let files = try FileSums.copyAll(from: copy.folder, to: new, progress: progress)
      // The checkpoint has the same bytes. It is opened instead of the snapshot, since opening a store changes it.
      let position = try Self.position(of: copy.folder, cluster: cluster, progress: progress)
      let manifest = SnapshotManifest(cluster: cluster, position: position, format: RocksStore.format, files: files)
      try manifest.write(to: "\(new)/\(Self.list)")
      try Folder.sync(new)
      guard rename(new, "\(path)/\(name)") == 0 else {
        throw StoreError(
          .inputOutput, "the snapshot \(new) can't get its name", underlying: String(cString: strerror(errno)))
      }
      try Folder.sync(path)
      let snapshot = Snapshot(
        name: name, position: position, bytes: manifest.bytes, node: node, format: RocksStore.format)
      try FileSums.check(try self.manifest(of: snapshot).files, in: "\(path)/\(name)", progress: progress)
      return snapshot
    } catch {
      guard error.code == .diskFull else { throw error }
      throw StoreError(
        .diskFull, "there is no space for a snapshot: make some in \(root) or in \(played.store.path)",
        underlying: error.description)
    }
  }

  /// Opens a copy of a snapshot, reads all of it, and returns its position in the log.
  private static func position(
    of folder: String, cluster: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) -> LogPosition {
    let store = try RocksStore(temporary: folder)
    defer { store.abandon() }
    let played = try PlayedStore(store)
    try played.join(cluster)
    var (bytes, problem) = (0, StoreError?.none)
    try store.scan(from: [], to: nil) { key, value in
      bytes += key.count + value.count
      guard bytes >= 1 << 20 else { return true }
      bytes = 0
      do throws(StoreError) { try progress(0) } catch { problem = error }
      return problem == nil
    }
    if let problem { throw problem }
    return played.position
  }

  // MARK: Reading

  /// Reads a snapshot's manifest, and checks that it belongs to this snapshot.
  private func manifest(of snapshot: Snapshot) throws(StoreError) -> SnapshotManifest {
    let folder = "\(path)/\(snapshot.name)"
    guard access(folder, F_OK) == 0 else {
      throw StoreError(
        .inputOutput,
        "the snapshot \(snapshot.name) that node \(snapshot.node) wrote is not in \(root): cluster.snapshots has to be the same folder on all nodes"
      )
    }
    guard snapshot.format <= RocksStore.format else {
      throw StoreError(
        .newerFormat,
        "a later version of ruled wrote the snapshot \(snapshot.name) (format \(snapshot.format), this one reads \(RocksStore.format)): "
          + "install that version here")
    }
    let manifest = try SnapshotManifest(reading: "\(folder)/\(Self.list)")
    guard manifest.cluster == cluster else {
      throw StoreError(
        .diverged,
        "the snapshot \(folder) is one of the cluster \(manifest.cluster), this node's is \(cluster): remove it from there"
      )
    }
    guard manifest.position == snapshot.position, manifest.format == snapshot.format else {
      throw StoreError(.corrupt, "the snapshot \(folder) is not the one that the database lists under its name")
    }
    return manifest
  }

  /// Copies a snapshot into the empty folder `target`, and opens the copy to check that it is the one that the database lists.
  ///
  /// Throws `corrupt`, with the file's name, if a file is damaged.
  func copy(
    _ snapshot: Snapshot, to target: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    try check()
    let files = try manifest(of: snapshot).files
    do throws(StoreError) {
      try FileSums.copy(files, from: "\(path)/\(snapshot.name)", to: target, progress: progress)
      let store = try RocksStore(temporary: target)
      defer { store.abandon() }
      let played = try PlayedStore(store)
      try played.join(cluster)
      guard played.position == snapshot.position else {
        throw StoreError(.corrupt, "the snapshot \(snapshot.name) is not at the position in the log that it states")
      }
      try store.close()
    } catch {
      guard error.code == .diskFull else { throw error }
      throw StoreError(
        .diskFull, "there is no space for the snapshot, which takes \(snapshot.bytes) bytes: make some in \(target)",
        underlying: error.description)
    }
  }

  // MARK: Cleaning

  /// Removes folders that are not listed and never will be: unfinished ones, and those older than all listed snapshots.
  ///
  /// Only the node that has the turn may call it.
  func clean(listed: [Snapshot]) throws(StoreError) {
    guard access(path, F_OK) == 0 else { return }
    let oldest = listed.map(\.position.sequence).min() ?? .min
    for name in try Folder.names(path) where name != "." && name != ".." && !listed.contains(where: { $0.name == name })
    {
      let folder = "\(path)/\(name)"
      if !name.hasSuffix(Self.unfinished) {
        guard let manifest = try? SnapshotManifest(reading: "\(folder)/\(Self.list)"), manifest.cluster == cluster,
          manifest.position.sequence < oldest
        else { continue }
        guard rename(folder, folder + Self.unfinished) == 0 else { continue }
        try StoreCheckpoints.remove(folder + Self.unfinished)
      } else {
        try StoreCheckpoints.remove(folder)
      }
    }
  }
}

/// The list of a snapshot's files, with its cluster and its position in the log; the last line is the checksum of the others.
struct SnapshotManifest: Equatable {
  /// The cluster's id.
  var cluster: String
  /// The position up to which the store has played the log back.
  var position: LogPosition
  /// The format of the store.
  var format: Int
  /// The files.
  var files: [FileSum]

  private static let title = "snapshot of a node's store of ruled, 1"

  /// The size of the files in bytes.
  var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

  init(cluster: String, position: LogPosition, format: Int, files: [FileSum]) {
    self.cluster = cluster
    self.position = position
    self.format = format
    self.files = files
  }

  /// Writes the list to a new file, durably.
  func write(to path: String) throws(StoreError) {
    let digest = ByteBuffer(capacity: 64)
    for byte in position.digest {
      digest.append(hexDigit: byte >> 4)
      digest.append(hexDigit: byte & 15)
    }
    let lines =
      [Self.title, "\(cluster) \(position.sequence) \(digest.text) \(format)"]
      + files.map { "\(Self.hex($0.sum)) \($0.bytes) \($0.name)" }
    let text = lines.map { $0 + "\n" }.joined()
    let file = try SystemFiles().open(path, .create)
    try (text + "\(Self.sum(of: text))\n").withView { (bytes) throws(StoreError) in try file.write(bytes, at: 0) }
    try file.sync()
  }

  /// Reads a list; throws `corrupt` for one that is damaged.
  init(reading path: String) throws(StoreError) {
    let file = try SystemFiles().open(path, .read)
    let buffer = ByteBuffer(capacity: 4096)
    try file.read(try file.size(), at: 0, into: buffer)
    let damaged = StoreError(.corrupt, "the file \(path) is damaged: its bytes are not those that were written")
    let lines = buffer.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count > 3, lines.last?.isEmpty == true, let first = lines.first else { throw damaged }
    let text = lines.dropLast(2).map { $0 + "\n" }.joined()
    guard lines[lines.count - 2] == Self.sum(of: text) else { throw damaged }
    guard first == Self.title else {
      throw StoreError(.newerFormat, "a later version of ruled wrote the list \(path): install that version here")
    }
    let fields = lines[1].split(separator: " ")
    guard fields.count == 4, let sequence = Int64(fields[1]), let format = Int(fields[3]) else { throw damaged }
    let digits = fields[2].utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    let digest = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    var files: [FileSum] = []
    for line in lines[2..<(lines.count - 2)] {
      let parts = line.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let sum = UInt64(parts[0], radix: 16), let bytes = Int(parts[1]),
        !parts[2].split(separator: "/").contains("..")
      else { throw damaged }
      files.append(FileSum(name: String(parts[2]), bytes: bytes, sum: sum))
    }
    let position = LogPosition(sequence: sequence, digest: digest)
    self.init(cluster: String(fields[0]), position: position, format: format, files: files)
  }

  private static func hex(_ value: UInt64) -> String { String(value, radix: 16) }

  private static func sum(of text: String) -> String { hex(text.withView { hash64($0, seed: 1) }) }
}
