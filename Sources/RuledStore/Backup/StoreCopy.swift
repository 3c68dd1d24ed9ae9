import Glibc
import RuledCore

/// A copy of a snapshot, to be opened and changed: RocksDB's tables, which never change, are linked, and all else is copied.
///
/// The copy is removed after use; `removeAll` and `removeAbandoned` remove the copies that a killed process left.
package final class StoreCopy: Sendable {
  package let folder: String
  private let use: FolderUse?

  private static let prefix = "replay-"

  /// Copies the snapshot at `path` into a new folder in `parent`, which is best on the same file system; an empty folder without one.
  package init(of path: String?, in parent: String, name: String) throws(StoreError) {
    folder = "\(parent)/\(Self.prefix)\(name)"
    let files = SystemFiles()
    do throws(StoreError) {
      use = try Self.make(folder, files)
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

  /// Makes an empty folder and takes it; `removeAbandoned` of another process may remove it before that.
  private static func make(_ folder: String, _ files: SystemFiles) throws(StoreError) -> FolderUse {
    for _ in 0..<10 {
      try BackupFiles.remove(folder)
      try files.createFolder(folder)
      if let use = try? FolderUse(folder, alone: true), files.exists(folder) { return use }
    }
    throw StoreError(.inUse, "the folder \(folder) is removed by others as soon as it is made")
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

  private init(_ folder: String) { (self.folder, use) = (folder, nil) }

  deinit { try? BackupFiles.remove(folder) }

  /// Removes the copies in `parent` that a killed process left.
  package static func removeAll(in parent: String) throws(StoreError) {
    for name in try Folder.names(parent) where name.hasPrefix(prefix) { try BackupFiles.remove("\(parent)/\(name)") }
  }

  /// Removes the copies of this user in `parent` that other processes left when they were killed: those of these names and a process's number.
  package static func removeAbandoned(_ names: [String], in parent: String) {
    for folder in (try? Folder.names(parent)) ?? [] {
      let path = "\(parent)/\(folder)"
      guard let name = names.first(where: { folder.hasPrefix("\(prefix)\($0)-") }),
        Int(folder.dropFirst(prefix.count + name.count + 1)) != nil,
        let status = try? BackupFiles.status(of: path), status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
        let use = try? FolderUse(path, alone: true)
      else { continue }
      withExtendedLifetime(use) { _ = try? BackupFiles.remove(path) }
    }
  }

  /// The copy's values of one subject.
  ///
  /// They are its record, `once` keys, timers, waiting messages, parked events and topics, the steps that lead states back to earlier versions, and
  /// the publications under way, whoever made them.
  package func content(of subject: String) throws(StoreError) -> MemoryStore {
    let store = try RocksStore(path: folder, blockCacheBytes: 1 << 20)
    defer { try? store.close() }
    let found = WriteSet(capacity: 4096)
    let kinds = [StoreKey.Kind.record, .once, .timer, .message, .parked, .membership]
    let prefixes = kinds.map { kind in StoreKey.prefix(kind, of: subject) }
    for prefix in prefixes + [StoredValue(name: StoreKey.stepsName).key, StoreKey.prefix(.publication)] {
      try store.scan(prefix: prefix) { key, value in
        found.put(key, value)
        return true
      }
    }
    // Topics know their members by keys of their own.
    let value = ByteBuffer(capacity: 8)
    var members: [[UInt8]] = []
    found.forEach { write in
      guard case .membership(_, let plugin, let name)? = try? ParsedKey(write.key) else { return }
      members.append(StoreKey.bytes { StoreKey.member(plugin: plugin, name: name, subject, into: $0) })
    }
    for member in members {
      try member.withView { (key: ByteView) throws(StoreError) in
        value.removeAll()
        if try store.get(key, into: value) { found.put(key, value.bytes) }
      }
    }
    let content = MemoryStore()
    try content.commit(found, durable: false)
    return content
  }
}
