import Glibc
package import RuledCore

/// The checkpoints of a store in a folder: folders below its own, since only files of the same file system can be linked.
///
/// The copier of a checkpoint takes a `FolderUse` of it and removes it afterwards. One that nobody uses is abandoned.
package struct StoreCheckpoints {
  private let folder: String
  private static let prefix = "checkpoint-"

  /// The checkpoints of the store in the folder `path`.
  package init(of path: String) { folder = path }

  /// Makes a checkpoint of the store, which is in this folder; gives its absolute path.
  ///
  /// `folders` are folders beside the store's own whose files it has too, as they are now; files there must not be changed in place.
  package func make(
    of store: any StateStore, at time: Timestamp, with folders: [String] = []
  ) throws(StoreError) -> String {
    guard let real = realpath(folder, nil) else {
      throw StoreError.system("the store at \(folder) can't be read", errno)
    }
    defer { free(real) }
    let path = "\(String(cString: real))/\(Self.prefix)\(time.rfc3339.filter { $0 != "-" && $0 != ":" })"
    do throws(StoreError) {
      try store.checkpoint(to: path)
      for name in folders { try link(name, into: path) }
    } catch {
      try? BackupFiles.remove(path)
      throw error
    }
    return path
  }

  private func link(_ name: String, into path: String) throws(StoreError) {
    guard access("\(folder)/\(name)", F_OK) == 0 else { return }
    try Folder.create("\(path)/\(name)")
    for file in try Folder.names("\(folder)/\(name)") where file != "." && file != ".." && !file.hasSuffix(".new") {
      let source = "\(folder)/\(name)/\(file)"
      if BackupFiles.link(source, to: "\(path)/\(name)/\(file)") || access(source, F_OK) != 0 { continue }
      try BackupFiles.copy(source, to: "\(path)/\(name)/\(file)")
    }
  }

  /// Removes the checkpoints that nobody uses; false if one is in use.
  package func removeAbandoned() throws(StoreError) -> Bool {
    for name in try Folder.names(folder) where name.hasPrefix(Self.prefix) {
      let path = "\(folder)/\(name)"
      guard try FolderUse(path, alone: true) != nil else { return false }
      try BackupFiles.remove(path)
    }
    return true
  }
}

extension StoreCheckpoints {
  /// Removes a checkpoint after its use.
  package static func remove(_ path: String) throws(StoreError) { try BackupFiles.remove(path) }
}

/// A copy of a snapshot, to be opened and changed: RocksDB's tables, which never change, are linked, and all else is copied.
///
/// The copy is removed when it is no longer used; `removeAll` removes those that a killed process left.
package final class StoreCopy: Sendable {
  package let folder: String

  /// What the names of copies begin with.
  private static let prefix = "replay-"

  /// Copies the snapshot at `path` into a new folder in `parent`, which is best on the same file system; an empty folder without one.
  package init(of path: String?, in parent: String, name: String) throws(StoreError) {
    folder = "\(parent)/\(Self.prefix)\(name)"
    let files = SystemFiles()
    do throws(StoreError) {
      try BackupFiles.remove(folder)
      try files.createFolder(folder)
      guard let path else { return }
      for entry in try BackupFiles.list(path) {
        let target = "\(folder)/\(entry.name)"
        if let slash = entry.name.lastIndex(of: "/") { try files.createFolder("\(folder)/\(entry.name[..<slash])") }
        if entry.name.hasSuffix(".sst"), BackupFiles.link("\(path)/\(entry.name)", to: target) { continue }
        try BackupFiles.copy("\(path)/\(entry.name)", to: target)
      }
    } catch {
      try? BackupFiles.remove(folder)
      throw error
    }
  }

  /// A copy of an open store in a new folder in `parent`, which is on the same file system, and the sequence of the last change that it has.
  package static func snapshot(
    of store: RocksStore, in parent: String, name: String
  ) throws(StoreError) -> (copy: StoreCopy, sequence: UInt64) {
    let folder = "\(parent)/\(Self.prefix)\(name)"
    do throws(StoreError) {
      try BackupFiles.remove(folder)
      let sequence = try store.snapshot(to: folder)
      return (StoreCopy(folder), sequence)
    } catch {
      try? BackupFiles.remove(folder)
      throw error
    }
  }

  private init(_ folder: String) { self.folder = folder }

  deinit { try? BackupFiles.remove(folder) }

  /// Removes the copies in `parent` that a killed process left.
  package static func removeAll(in parent: String) throws(StoreError) {
    for name in try Folder.names(parent) where name.hasPrefix(prefix) { try BackupFiles.remove("\(parent)/\(name)") }
  }

  /// What the copy holds of one subject: its record, `once` keys, timers, messages that wait, and parked events.
  package func content(of subject: String) throws(StoreError) -> MemoryStore {
    let store = try RocksStore(path: folder, blockCacheBytes: 1 << 20)
    defer { try? store.close() }
    let found = WriteSet(capacity: 4096)
    for kind in [StoreKey.Kind.record, .once, .timer, .message, .parked] {
      let prefix = StoreKey.bytes { StoreKey.subjectPrefix(kind, subject, into: $0) }
      try store.scan(prefix: prefix) { key, value in
        found.put(key, value)
        return true
      }
    }
    let content = MemoryStore()
    try content.commit(found, durable: false)
    return content
  }
}
