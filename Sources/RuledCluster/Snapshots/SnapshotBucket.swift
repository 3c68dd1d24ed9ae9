import RuledCore
import RuledStore

/// The snapshots of one cluster, in a bucket of an object store: `<prefix>/<cluster's id>/<snapshot's name>/<file>`.
struct SnapshotBucket: SnapshotStorage {
  let cluster: String
  let root: String
  let kind = "bucket and prefix"
  let folderForSpace: String? = nil
  private let store: ObjectStore
  private let prefix: String

  init(_ bucket: ObjectBucket, cluster: String) throws(StoreError) {
    self.cluster = cluster
    root = bucket.url
    store = try ObjectStore(bucket)
    prefix = bucket.prefix.isEmpty ? "\(cluster)/" : "\(bucket.prefix)/\(cluster)/"
  }

  /// The first request tells whether the store can be used.
  func check() {}

  func path(of name: String, _ file: String?) -> String {
    store.url(of: "\(prefix)\(name)") + (file.map { "/\($0)" } ?? "")
  }

  private func object(_ name: String, _ file: String) -> String { "\(prefix)\(name)/\(file)" }

  func add(_ folder: String, to name: String, progress: CopyProgress) throws(StoreError) -> [FileSum] {
    var files: [FileSum] = []
    for file in try FileSums.names(in: folder) {
      var digest = SHA256()
      let sum = try FileSum.read(file, in: folder) { (part) throws(StoreError) in
        digest.update(part)
        try progress(0)
      }
      try store.put(
        fileAt: "\(folder)/\(file)", bytes: sum.bytes, digest.finish(), as: object(name, file), progress: progress)
      files.append(sum)
    }
    return files
  }

  func finish(_ name: String, list: [UInt8], progress: CopyProgress) throws(StoreError) {
    try store.put(list, as: object(name, SnapshotManifest.name), progress: progress)
  }

  func list(of name: String, progress: CopyProgress) throws(StoreError) -> [UInt8]? {
    try store.get(object(name, SnapshotManifest.name), progress: progress)
  }

  func verify(_ files: [FileSum], of name: String, progress: CopyProgress) throws(StoreError) {
    for file in files { try fetch(file, of: name, into: FileReceiver(file.name), progress: progress) }
  }

  func copy(_ files: [FileSum], of name: String, to target: String, progress: CopyProgress) throws(StoreError) {
    try FileSums.receive(files, into: target) { (file, receiver) throws(StoreError) in
      try fetch(file, of: name, into: receiver, progress: progress)
    }
  }

  /// Reads a file of a snapshot; throws `corrupt` if it differs from the list.
  private func fetch(
    _ file: FileSum, of name: String, into receiver: FileReceiver, progress: CopyProgress
  ) throws(StoreError) {
    let object = object(name, file.name)
    guard try store.get(object, into: receiver, progress: progress) else {
      throw StoreError(
        .inputOutput,
        "\(store.url(of: object)) is missing: nothing but the nodes may remove objects there, such as a rule on their age"
      )
    }
    guard try receiver.finish() == file else {
      throw StoreError(.corrupt, "\(store.url(of: object)) is damaged: its bytes are not those that were written")
    }
  }

  func names(progress: CopyProgress) throws(StoreError) -> [(name: String, isWhole: Bool)] {
    var found: [String: Bool] = [:]
    for object in try store.names(prefix: prefix, progress: progress) {
      let parts = object.dropFirst(prefix.count).split(separator: "/", maxSplits: 1)
      // Other objects there are left alone.
      guard parts.count == 2, Self.isName(parts[0]) else { continue }
      let isList = parts[1] == SnapshotManifest.name
      found[String(parts[0]), default: false] = found[String(parts[0])] == true || isList
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether a snapshot may have that name: it is a UUID.
  private static func isName(_ text: Substring) -> Bool {
    text.utf8.count == 36 && text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || HexDigit.value($0) != nil }
  }

  func remove(_ name: String, progress: CopyProgress) throws(StoreError) {
    try store.delete(object(name, SnapshotManifest.name), progress: progress)
    for object in try store.names(prefix: "\(prefix)\(name)/", progress: progress) {
      try store.delete(object, progress: progress)
    }
  }
}
