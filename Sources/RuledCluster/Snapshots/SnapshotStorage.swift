import RuledCore
package import RuledStore

/// The storage of one cluster's snapshots, which all its nodes reach.
///
/// A snapshot is a store as a kill would leave it, with `SNAPSHOT`, the list of its files and their checksums. The list comes last: without it there is
/// no snapshot, only remains of one. Once it is there, a snapshot never changes.
protocol SnapshotStorage {
  var cluster: String { get }
  var root: String { get }
  /// The kind of storage, as in "the same folder on all nodes".
  var kind: String { get }
  /// The folder on this host or on a shared disk that needs space for snapshots; nil if the storage has none.
  var folderForSpace: String? { get }

  func check() throws(StoreError)

  /// The path of a file of the snapshot `name`, or of the snapshot itself, for messages.
  func path(of name: String, _ file: String?) -> String

  /// Stores all files below a folder for the snapshot `name`, which is none yet; gives them with their checksums.
  func add(_ folder: String, to name: String, progress: CopyProgress) throws(StoreError) -> [FileSum]

  /// Makes a snapshot of the files under `name` by storing their list.
  func finish(_ name: String, list: [UInt8], progress: CopyProgress) throws(StoreError)

  /// The list of the snapshot `name`; nil if there is no such snapshot.
  func list(of name: String, progress: CopyProgress) throws(StoreError) -> [UInt8]?

  /// Reads files of the snapshot `name`; throws `corrupt` with the name of a damaged one.
  func verify(_ files: [FileSum], of name: String, progress: CopyProgress) throws(StoreError)

  /// Copies files of the snapshot `name` into the empty folder `target`; throws `corrupt` with the name of a damaged one.
  func copy(_ files: [FileSum], of name: String, to target: String, progress: CopyProgress) throws(StoreError)

  /// The names of snapshots, and of remains of some.
  func names(progress: CopyProgress) throws(StoreError) -> [(name: String, isWhole: Bool)]

  /// Removes a snapshot, or its remains; at no moment it seems whole while files are missing.
  func remove(_ name: String, progress: CopyProgress) throws(StoreError)
}

extension SnapshotSettings {
  /// The storage of the snapshots of the cluster with this id.
  func storage(of cluster: String) throws(StoreError) -> any SnapshotStorage {
    switch location {
    case .folder(let root): SnapshotFolder(root: root, cluster: cluster)
    case .bucket(let bucket): try SnapshotBucket(bucket, cluster: cluster)
    }
  }

  /// Throws the problem if this node can't know how to reach the storage.
  package func review() throws(StoreError) {
    if case .bucket(let bucket) = location { _ = try ObjectStore.credentials(for: bucket) }
  }
}

/// The work on snapshots that is the same in every storage.
extension SnapshotStorage {
  /// Writes a snapshot of `played`, verifies it, and returns its entry for the list of the database.
  ///
  /// `complete` may add files to the folder of the copy. `progress` is called often, and may throw to stop. `clean` removes the remains after an error.
  func write(
    _ played: PlayedStore, by node: String, complete: (_ folder: String, _ last: UInt64) -> Void, progress: CopyProgress
  ) throws(StoreError) -> Snapshot {
    try check()
    do throws(StoreError) {
      let (copy, last) = try StoreCopy.snapshot(of: played.store, in: played.store.path, name: "snapshot")
      complete(copy.folder, last)
      let name = UUIDText.random().text
      let files = try add(copy.folder, to: name, progress: progress)
      // The checkpoint has the same bytes. It is opened instead of the snapshot, since opening a store changes it.
      let position = try position(of: copy.folder, progress: progress)
      let manifest = SnapshotManifest(cluster: cluster, position: position, format: RocksStore.format, files: files)
      try finish(name, list: Array(manifest.text.utf8), progress: progress)
      let snapshot = Snapshot(
        name: name, position: position, bytes: manifest.bytes, node: node, format: RocksStore.format)
      try verify(try self.manifest(of: snapshot, progress: progress).files, of: name, progress: progress)
      return snapshot
    } catch {
      guard error.code == .diskFull else { throw error }
      let folders = [folderForSpace, played.store.path].compactMap { $0 }.joined(separator: " or in ")
      throw StoreError(
        .diskFull, "there is no space for a snapshot: make some in \(folders)", underlying: error.description)
    }
  }

  /// Opens a copy of a snapshot, reads all of it, and returns its position in the log.
  private func position(of folder: String, progress: CopyProgress) throws(StoreError) -> LogPosition {
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

  /// Reads a snapshot's manifest, and checks that it belongs to this snapshot.
  private func manifest(of snapshot: Snapshot, progress: CopyProgress) throws(StoreError) -> SnapshotManifest {
    let path = path(of: snapshot.name, nil)
    guard let list = try list(of: snapshot.name, progress: progress) else {
      throw StoreError(
        .inputOutput,
        "the snapshot \(snapshot.name) that node \(snapshot.node) wrote is not in \(root): cluster.snapshots has to be the same \(kind) on all nodes"
      )
    }
    guard snapshot.format <= RocksStore.format else {
      throw StoreError(
        .newerFormat,
        "a later version of ruled wrote the snapshot \(snapshot.name) (format \(snapshot.format), this one reads \(RocksStore.format)): "
          + "install that version here")
    }
    let manifest = try SnapshotManifest(list, at: self.path(of: snapshot.name, SnapshotManifest.name))
    guard manifest.cluster == cluster else {
      throw StoreError(
        .diverged,
        "the snapshot \(path) is one of the cluster \(manifest.cluster), this node's is \(cluster): remove it from there"
      )
    }
    guard manifest.position == snapshot.position, manifest.format == snapshot.format else {
      throw StoreError(.corrupt, "the snapshot \(path) is not the one that the database lists under its name")
    }
    return manifest
  }

  /// Copies a snapshot into the empty folder `target`, and opens the copy to check that it is the listed one.
  ///
  /// Throws `corrupt`, with the file's name, if a file is damaged.
  func copy(_ snapshot: Snapshot, to target: String, progress: CopyProgress) throws(StoreError) {
    try check()
    let files = try manifest(of: snapshot, progress: progress).files
    do throws(StoreError) {
      try copy(files, of: snapshot.name, to: target, progress: progress)
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

  /// Removes all remains that will never be listed: unfinished snapshots, and snapshots older than all listed ones.
  ///
  /// Only the node with the turn may call it.
  func clean(listed: [Snapshot], progress: CopyProgress) throws(StoreError) {
    let oldest = listed.map(\.position.sequence).min() ?? .min
    for (name, isWhole) in try names(progress: progress) where !listed.contains(where: { $0.name == name }) {
      if isWhole {
        guard let list = try? list(of: name, progress: progress),
          let manifest = try? SnapshotManifest(list, at: path(of: name, SnapshotManifest.name)),
          manifest.cluster == cluster, manifest.position.sequence < oldest
        else { continue }
      }
      try remove(name, progress: progress)
    }
  }
}
